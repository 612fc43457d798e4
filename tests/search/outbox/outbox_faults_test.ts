import { assertEquals } from "@std/assert";
import type { KeyValue } from "../../../src/kv/key_value.ts";
import { StoreError } from "../../../src/kv/store_error.ts";
import { postgresStores } from "../../support/postgres_stores.ts";
import { testUnless } from "../../support/skip.ts";
import { Crash, type Moment, openOutboxWorld, type OutboxProcess, steps } from "./outbox_world.ts";

const faults = ["throw before", "throw after", "crash before", "crash after"] as const;

/** The writes before the fault, and the one that meets it. */
const writes = {
  create: [null, "new"],
  update: ["old", "new"],
  delete: ["old", null],
} as const;

const inPostgres = postgresStores();

function overEachStore(name: string, work: (open: typeof openOutboxWorld) => Promise<void>): void {
  Deno.test(name, () => work(openOutboxWorld));
  testUnless(
    inPostgres.missing,
    `${name}: the outbox is in Postgres`,
    () => work(() => openOutboxWorld(inPostgres.open)),
  );
}

for (const [write, [before, after]] of Object.entries(writes)) {
  for (const fault of faults) {
    overEachStore(
      `a ${write}, ${fault} each step: after a drain the index equals the rows`,
      async (open) => {
        await using world = await open();
        for (const step of steps) {
          await world.reset();
          const first = world.start();
          if (before !== null) await first.write(1, before);
          await first.drain();

          let met = 0;
          const moment: Moment = async (at, side) => {
            if (at !== step || !fault.endsWith(side) || met > 0) return;
            met++;
            if (fault.startsWith("crash")) await process.crash();
            throw new StoreError(side === "before" ? "unavailable" : "unknown-outcome", fault);
          };
          const process: OutboxProcess = world.start(moment);
          await ignoringFaults(() => process.write(1, after));
          await ignoringFaults(() => process.drain());
          assertEquals(met, 1, `${fault} ${step} was met`);
          if (!fault.startsWith("crash")) {
            // The process lives, and what it could not store is in its memory.
            world.advance(310_000);
            await process.drain();
          }
          await world.converge(`${write}, ${fault} ${step}`);
        }
      },
    );
  }
}

Deno.test("a fault at the n-th call of the store, for every n: the index equals the rows", async () => {
  await using world = await openOutboxWorld();
  for (const fault of faults) {
    let n = 1;
    for (let isMet = true; isMet; n++) {
      await world.reset();
      let calls = 0;
      const around = async <T>(work: () => Promise<T>): Promise<T> => {
        const isIt = ++calls === n;
        if (isIt && fault === "crash before") await process.crash();
        if (isIt && fault === "throw before") throw new StoreError("unavailable", fault);
        const result = await work();
        if (isIt && fault === "crash after") await process.crash();
        if (isIt && fault === "throw after") throw new StoreError("unknown-outcome", fault);
        return result;
      };
      const process: OutboxProcess = world.start(undefined, (store) => faultyStore(store, around));
      for (const [id, title] of [[1, "a"], [2, "b"], [1, "c"], [2, null]] as const) {
        await ignoringFaults(() => process.write(id, title));
        if (title === "b") await ignoringFaults(() => process.drain());
      }
      await ignoringFaults(() => process.drain());
      isMet = calls >= n;
      world.advance(310_000);
      await ignoringFaults(() => process.drain());
      await world.converge(`${fault} at ${n}`);
    }
    assertEquals(n > 20, true, `only ${n} calls`);
  }
});

function faultyStore(store: KeyValue, around: <T>(work: () => Promise<T>) => Promise<T>): KeyValue {
  return {
    get: (key) => around(() => store.get(key)),
    getMany: (keys) => around(() => store.getMany(keys)),
    list: (page) => around(() => store.list(page)),
    commit: (commit) => around(() => store.commit(commit)),
    close: () => store.close(),
  };
}

async function ignoringFaults(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const isExpected = error instanceof Crash || error instanceof Error &&
        /DatabaseError|StoreError/.test(error.name);
    if (!isExpected) throw error;
  }
}

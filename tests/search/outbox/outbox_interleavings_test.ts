import { assertEquals } from "@std/assert";
import type { KeyValue } from "../../../src/kv/key_value.ts";
import { runAfterPendingIo } from "../../../src/runtime/runtime.ts";
import { randomOf } from "../../billing/ledger_model.ts";
import { StoreError } from "../../../src/kv/store_error.ts";
import { openOutboxWorld, type OutboxProcess } from "./outbox_world.ts";
import { repeats } from "../../support/repeats.ts";

const turn = () => new Promise<void>(runAfterPendingIo);

/** Lets the calls of several processes continue in an order that a seed decides. */
class Interleaving {
  readonly #random: () => number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Waits until it is this call's turn. */
  moment(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  begin(work: Promise<void>): void {
    this.#running++;
    work.finally(() => this.#running--);
  }

  /** Runs all work to its end; `pause` is called between two calls now and then. */
  async run(pause: () => void): Promise<void> {
    for (let idle = 0; this.#running > 0;) {
      await turn();
      // Group commits begin after a turn of the event loop.
      if (this.#waiting.length === 0 || idle++ < 2) continue;
      idle = 0;
      if (this.#random() < 0.15) pause();
      const [next] = this.#waiting.splice(Math.floor(this.#random() * this.#waiting.length), 1);
      next?.();
    }
  }

  around(store: KeyValue): KeyValue {
    const call = async <T>(work: () => Promise<T>): Promise<T> => {
      await this.moment();
      return await work();
    };
    return {
      get: (key) => call(() => store.get(key)),
      getMany: (keys) => call(() => store.getMany(keys)),
      list: (page) => call(() => store.list(page)),
      commit: (commit) => call(() => store.commit(commit)),
      close: () => store.close(),
    };
  }
}

/** A change that conflicts for three seconds fails, and what was taken is due again later. */
async function drainOrFail(process: OutboxProcess): Promise<void> {
  try {
    await process.drain();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}

const seeds = repeats(1_000);

Deno.test(`two drainers, ${seeds} seeded interleavings of updates and deletes of three documents`, async () => {
  await using world = await openOutboxWorld();
  const results = { stalls: 0, writes: 0 };
  for (let seed = 1; seed <= seeds; seed++) {
    await world.reset();
    const random = randomOf(seed);
    let writing = 0;
    const interleaving = new Interleaving(random);
    const start = () =>
      world.start(() => interleaving.moment(), (store) => interleaving.around(store));
    for (let writer = 0; writer < 2; writer++) {
      const process = start();
      interleaving.begin((async () => {
        for (let n = 0; n < 3; n++) {
          const id = 1 + Math.floor(random() * 3);
          writing++;
          await process.write(id, random() < 0.3 ? null : `${writer}.${n}`);
          writing--;
          results.writes++;
          await interleaving.moment();
        }
      })());
    }
    for (let drainer = 0; drainer < 2; drainer++) {
      const process = start();
      interleaving.begin((async () => {
        for (let n = 0; n < 3; n++) await drainOrFail(process);
      })());
    }
    // A drainer stalls for longer than its lease, but no write takes half a minute.
    await interleaving.run(() => {
      const isStall = writing === 0;
      world.advance(isStall ? 130_000 : 10);
      if (isStall) results.stalls++;
    });
    await world.converge(`seed ${seed}`);
  }
  assertEquals(results.writes, 6 * seeds);
  // How many there are depends on the machine too.
  assertEquals(results.stalls > seeds / 20, true, `only ${results.stalls} stalls`);
});

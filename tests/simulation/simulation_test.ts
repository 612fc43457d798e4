import { assert, assertEquals } from "@std/assert";
import { clearTimeout as clearRealTimeout, setTimeout as realTimeout } from "node:timers";
import { DatabaseError } from "../../src/db/database_error.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { installTimers } from "./scheduler.ts";
import { openService, type SimulatedService } from "./service.ts";
import { schedulesPerService, simulate } from "./simulate.ts";

// `SEED=… deno task test tests/simulation` repeats a failure with other seeds.
const random = crypto.getRandomValues(new Uint32Array(1))[0]! % 1_000_000;
const seed = Number(Deno.env.get("SEED") ?? random * schedulesPerService);

Deno.test(`better-sqlite3: no order of steps breaks a stream, from seed ${seed} on`, async () => {
  const { failure, events } = await simulate({ seed, schedules: 64 });
  assertEquals(failure, null);
  assert(events > 250, `only ${events} events`);
});

testOnPostgres("no order of steps breaks a stream, from seed 0 on", async (url) => {
  const { failure, events } = await simulate({ seed: 0, schedules: 3, url });
  assertEquals(failure, null);
  assert(events > 10, `only ${events} events`);
});

testOnPostgres(
  "a result of more than one burst of bytes does not stop the schedule",
  async (url) => {
    await withSchedule(url, async ({ outside, scheduler }) => {
      let bytes = 0;
      const text = "SELECT repeat('x', 300000)";
      void outside.query({ text, values: [] }).then(({ rows }) => bytes = String(rows[0]).length);
      assertEquals(await scheduler.run(() => bytes > 0, 1_000), true);
      assertEquals(bytes, 300_000);
    });
  },
);

testOnPostgres(
  "a lost connection that waits for a lock does not stop the schedule",
  async (url) => {
    await withSchedule(url, async ({ base, outside, scheduler }) => {
      let error: unknown = null;
      await base.transaction(async (tx) => {
        await tx.query({ text: "LOCK TABLE items IN ACCESS EXCLUSIVE MODE", values: [] });
        const write = outside.query({ text: "UPDATE items SET rank = 1", values: [] });
        write.catch((reason) => error = reason);
        // Time passes until the service gives up the connection.
        assertEquals(await scheduler.run(() => error !== null, 1_000), true);
      });
      assert(error instanceof DatabaseError);
    });
  },
);

/** Fails if the work does not end at all. */
async function withSchedule(
  url: string,
  work: (service: SimulatedService) => Promise<void>,
): Promise<void> {
  const service = await openService(0, url);
  const takeBack = installTimers(service.scheduler);
  service.scheduler.begin(0, false);
  const stuck = Promise.withResolvers<never>();
  const timer = realTimeout(() => stuck.reject(new Error("The schedule is stuck")), 120_000);
  try {
    await Promise.race([work(service), stuck.promise]);
    service.scheduler.open();
    await service.scheduler.drain();
  } finally {
    clearRealTimeout(timer);
    takeBack();
    await service.close();
  }
}

Deno.test("better-sqlite3: a seed always causes the same steps", async () => {
  const traceOf = async () => {
    const lines: string[] = [];
    await simulate({ seed: 2, schedules: 1, trace: (line) => lines.push(line) });
    return lines;
  };
  const first = await traceOf();
  assert(first.length > 100);
  assertEquals(await traceOf(), first);
});

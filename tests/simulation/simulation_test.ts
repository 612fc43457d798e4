import { assert, assertEquals } from "@std/assert";
import { testOnPostgres } from "../support/postgres_tests.ts";
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

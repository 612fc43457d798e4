import { assert, assertEquals } from "@std/assert";
import { checkStreams, explain } from "./check_streams.ts";

// A failure is found again by `SEED=… deno task test tests/live/checker/schedules/streams_test.ts`.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 8);

Deno.test(`sqlite: five thousand events hold every promise, from seed ${seed} on`, async () => {
  const options = { seed, events: 5_000, maxMs: 120_000 };
  const { failure, events, comparisons } = await checkStreams(options);
  if (failure !== null) {
    const at = Number(/^seed (\d+)/.exec(failure)?.[1]);
    assertEquals(`${failure}\n${await explain(at, options)}`, null);
  }
  // A machine that is slow or busy does less in the time.
  assert(events > 2_000 && comparisons > 200, `only ${events} events were checked`);
});

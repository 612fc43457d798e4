import { assert, assertEquals } from "@std/assert";
import { checkStreams, explain } from "./check_streams.ts";
import { repeats } from "../../../support/repeats.ts";

// A failure is found again by `SEED=… deno task test tests/live/checker/schedules/streams_test.ts`.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 8);

const events = repeats(5_000);

Deno.test(`sqlite: ${events} events hold every promise, from seed ${seed} on`, async () => {
  const options = { seed, events, maxMs: 120_000 };
  const { failure, comparisons, ...done } = await checkStreams(options);
  if (failure !== null) {
    const at = Number(/^seed (\d+)/.exec(failure)?.[1]);
    assertEquals(`${failure}\n${await explain(at, options)}`, null);
  }
  // A machine that is slow or busy does less in the time.
  assert(
    done.events > 0.4 * events && comparisons > events / 25,
    `only ${done.events} events were checked`,
  );
});

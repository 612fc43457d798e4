/**
 * Checks live streams for as long as it takes: `deno task check-live [events] [seed]`. What fails
 * is run again with fewer and fewer steps, and told.
 */
import { checkStreams, explain } from "./check_streams.ts";

const [events = "10000000", seed = "1"] = Deno.args;
const options = {
  seed: Number(seed),
  events: Number(events),
  mostMs: Infinity,
  report: (checked: number) => console.log(`${checked} events checked`),
};
const verdict = await checkStreams(options);
if (verdict.failure !== null) {
  console.log(verdict.failure);
  console.log(await explain(Number(/^seed (\d+)/.exec(verdict.failure)?.[1]), options));
  Deno.exit(1);
}
const { comparisons, elapsedMs } = verdict;
console.log(
  `${verdict.events} events and ${comparisons} clients at rest, ${Math.round(elapsedMs / 1000)} s`,
);

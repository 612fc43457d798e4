import { parseArgs } from "node:util";
import { startMortalPostgres } from "../support/mortal_postgres.ts";
import { simulate } from "./simulate.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "0" },
    schedules: { type: "string" },
    postgres: { type: "boolean", default: false },
    streams: { type: "boolean", default: false },
    trace: { type: "boolean", default: false },
  },
});
const isOne = values.schedules === undefined && Deno.args.some((one) => one.startsWith("--seed"));
const schedules = Number(values.schedules ?? (isOne ? 1 : 10_000));
const beganAt = performance.now();
await using server = values.postgres ? await startMortalPostgres() : null;
const outcome = await simulate({
  seed: Number(values.seed),
  schedules,
  ...{ onlyStreams: values.streams, url: server?.url ?? null },
  ...(values.trace ? { trace: console.log } : {}),
});
const seconds = (performance.now() - beganAt) / 1_000;
console.log(
  `${outcome.schedules} schedules, ${outcome.steps} steps, ${outcome.events} events, ` +
    `${Math.round(outcome.schedules / seconds)} schedules per second`,
);
if (outcome.failure !== null) {
  console.log(`seed ${outcome.failure.seed} failed\n${outcome.failure.text}`);
  Deno.exitCode = 1;
}

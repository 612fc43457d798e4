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
function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new Error(`Cannot simulate: --${option} ${text} is not a whole number`);
}

const isOne = values.schedules === undefined && Deno.args.some((one) => one.startsWith("--seed"));
const schedules = wholeNumber("schedules", values.schedules ?? (isOne ? "1" : "10000"));
const beganAt = performance.now();
await using server = values.postgres ? await startMortalPostgres() : null;
const outcome = await simulate({
  seed: wholeNumber("seed", values.seed),
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

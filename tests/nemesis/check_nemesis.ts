/** Attacks a running service with faults: `deno task nemesis`. CONTRIBUTING.md lists the options. */
import { parseArgs } from "node:util";
import { runNemesis } from "./nemesis.ts";
import { printTable } from "./print_table.ts";
import type { Engine } from "./world.ts";

const { values } = parseArgs({
  options: {
    engine: { type: "string" },
    seed: { type: "string", default: "1" },
    seconds: { type: "string", default: "600" },
    faults: { type: "string" },
  },
});
const stopping = new AbortController();
Deno.addSignalListener("SIGINT", () => stopping.abort());
const engines: readonly Engine[] = values.engine === undefined
  ? ["sqlite", "postgres"]
  : [engineNamed(values.engine)];
for (const engine of engines) {
  const outcome = await runNemesis({
    engine,
    seed: wholeNumber("seed", values.seed),
    seconds: wholeNumber("seconds", values.seconds) / engines.length,
    faults: values.faults?.split(","),
    log: console.log,
    stopping: stopping.signal,
  });
  console.log(printTable(engine, outcome));
  if (outcome.wrong.length > 0) Deno.exitCode = 1;
}

function engineNamed(name: string): Engine {
  if (name === "sqlite" || name === "postgres") return name;
  throw new Error(`Cannot run the nemesis: --engine ${name} is neither sqlite nor postgres`);
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new Error(`Cannot run the nemesis: --${option} ${text} is not a whole number`);
}

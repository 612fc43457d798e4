/**
 * Fuzzes the parsers of the service, with coverage as feedback:
 *
 *     deno task fuzz                        # every target for 10 seconds
 *     deno task fuzz filter csv --seconds 60
 *     deno task fuzz --write                # also stores the inputs that reach new branches
 *     deno task fuzz --missed               # also prints the lines that no input reached
 *     deno task fuzz --seed 7               # other random inputs; 1 by default
 *
 * The modules of the parsers are copied, with a counter in each branch. Prints for each target the
 * executions, the reached branches of the functions that were called, and the faults with their inputs. Exits
 * with 1 if there is a fault.
 */
import { instrumentedCopy } from "./engine/instrumented_copy.ts";
import type { FuzzRequest, TargetReport } from "./run_targets.ts";
import { targets } from "./targets/targets.ts";

const corpusFolder = new URL("corpus/", import.meta.url);

/** Runs targets in an instrumented copy, and calls `take` with the report of each. */
export async function runTargets(
  request: Omit<FuzzRequest, "corpora">,
  take: (report: TargetReport) => void | Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "resource-api-fuzz-" });
  try {
    await instrumentedCopy(folder, "tests/fuzz/run_targets.ts");
    const corpora = Object.fromEntries(
      await Promise.all(request.names.map(async (name) => [name, await corpusOf(name)] as const)),
    );
    const { stdout } = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-check",
        "tests/fuzz/run_targets.ts",
        JSON.stringify({ ...request, corpora }),
      ],
      cwd: folder,
      stdout: "piped",
      stderr: "inherit",
    }).spawn();
    let rest = "";
    for await (const part of stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + part).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("{")) await take(JSON.parse(line));
        else console.log(line);
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function corpusOf(name: string): Promise<readonly string[]> {
  try {
    const text = await Deno.readTextFile(new URL(`${name}.jsonl`, corpusFolder));
    return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

async function main(args: readonly string[]): Promise<void> {
  const value = (name: string, otherwise: number) => {
    const at = args.indexOf(name);
    return at < 0 ? otherwise : Number(args[at + 1]);
  };
  const named = args.filter((arg, at) =>
    !arg.startsWith("--") && !/^--se/.test(args[at - 1] ?? "")
  );
  const names = named.length === 0 ? Object.keys(targets) : named;
  const unknown = names.find((name) => !Object.hasOwn(targets, name));
  if (unknown !== undefined) {
    console.error(`There is no target ${unknown}: ${Object.keys(targets).join(", ")}`);
    Deno.exit(2);
  }
  const milliseconds = value("--seconds", 10) * 1_000;
  let faults = 0;
  let reports = 0;
  const plan = { names, seed: value("--seed", 1), milliseconds, executions: Infinity };
  await runTargets({ ...plan, executions: Number.MAX_SAFE_INTEGER }, async (report) => {
    reports++;
    faults += report.faults.length;
    print(report, args.includes("--missed"));
    if (args.includes("--write")) await write(report);
  });
  console.log(`${reports} of ${names.length} targets, ${faults} faults`);
  Deno.exit(faults === 0 && reports === names.length ? 0 : 1);
}

function print(report: TargetReport, isMissed: boolean): void {
  const { name, executions, pumps, reached, branches, faults, missed, inputs } = report;
  const share = branches === 0 ? 0 : Math.round(1_000 * reached / branches) / 10;
  console.log(
    `${name.padEnd(16)} ${executions} executions, ${pumps} lengths, ` +
      `${reached} of ${branches} branches (${share} %), ${inputs.length} inputs, ` +
      `${faults.length} faults`,
  );
  for (const { input, reason } of faults) {
    console.log(`  FAULT ${JSON.stringify(input).slice(0, 600)}\n    ${reason.slice(0, 1_500)}`);
  }
  if (!isMissed) return;
  for (const [file, lines] of Object.entries(missed)) {
    if (lines.length > 0) console.log(`  ${file}: ${[...new Set(lines)].join(" ")}`);
  }
}

/** The total size of a stored corpus is limited, because it is part of the repository. */
const maxCorpusInputs = 80;
const maxInputLength = 400;

async function write({ name, inputs, faults }: TargetReport): Promise<void> {
  const failing = new Set(faults.map(({ input }) => input));
  const kept = inputs.filter((input) => input.length <= maxInputLength && !failing.has(input))
    .slice(0, maxCorpusInputs).map((input) => JSON.stringify(input));
  const file = new URL(`${name}.jsonl`, corpusFolder);
  await Deno.writeTextFile(file, kept.map((one) => `${one}\n`).join(""));
}

if (import.meta.main) await main(Deno.args);

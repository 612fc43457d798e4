import type { Fault } from "./instance.ts";
import { shrink } from "./shrink.ts";
import { simulate } from "./simulation.ts";
import type { Outcome, SimulationOptions } from "./simulation_parts.ts";

/** How long streams are checked. */
export interface CheckOptions {
  readonly seed: number;
  /** Ends once so many events were checked. */
  readonly events: number;
  /** Ends then in any case. */
  readonly maxMs: number;
  /** What is put in the place of a sound part. */
  readonly fault?: Fault;
  readonly spoil?: SimulationOptions["spoil"];
  /** Called after each run. */
  readonly report?: (events: number) => void;
}

/** What came of it. */
export interface Verdict {
  /** What was wrong, and how to see it again; null where nothing was. */
  readonly failure: string | null;
  readonly events: number;
  readonly comparisons: number;
  readonly elapsedMs: number;
}

const stepsOfRun = 720;

/** Runs one simulation after the other, each with another seed. */
export async function checkStreams(options: CheckOptions): Promise<Verdict> {
  const { events: wanted, maxMs, report } = options;
  const folder = await makeFolder();
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  let [events, comparisons] = [0, 0];
  try {
    for (let seed = options.seed; events < wanted && elapsedMs() < maxMs; seed++) {
      const outcome = await simulate(runOf(seed, allSteps(seed), folder, options));
      events += outcome.events;
      comparisons += outcome.comparisons;
      report?.(events);
      if (outcome.failure === null) continue;
      const failure = `seed ${seed}: ${outcome.failure}`;
      return { failure, events, comparisons, elapsedMs: elapsedMs() };
    }
    return { failure: null, events, comparisons, elapsedMs: elapsedMs() };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** A failing run made short, line by line. Takes its time. */
export async function explain(seed: number, options: CheckOptions): Promise<string> {
  const folder = await makeFolder();
  const deadline = performance.now() + explainingMs;
  try {
    const first = await simulate(runOf(seed, allSteps(seed), folder, options));
    const steps = await shrink(allSteps(seed), async (fewer) => {
      if (performance.now() > deadline) return false;
      const outcome = await simulate(runOf(seed, fewer, folder, options));
      return kindOf(outcome) === kindOf(first);
    });
    const lines: string[] = [];
    const trace = (line: string) => lines.push(line.slice(0, 160));
    const { failure } = await simulate({ ...runOf(seed, steps, folder, options), trace });
    const client = /^client \d+/.exec(failure ?? "")?.[0] ?? "";
    const sent = lines.filter((line) => !line.startsWith("client ") || line.startsWith(client));
    return [`${steps.length} steps are enough:`, ...sent, failure].join("\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const explainingMs = 60_000;

/** In memory where the machine has such a place: no run outlives its process. */
async function makeFolder(): Promise<string> {
  const prefix = "resource-api-checker-";
  const memory = "/dev/shm";
  const isThere = await Deno.stat(memory).then(() => true, () => false);
  return await Deno.makeTempDir(isThere ? { dir: memory, prefix } : { prefix });
}

/** What remains of a failure without the names and numbers in it. */
function kindOf({ failure }: Outcome): string | null {
  return failure?.replace(/^[^)]*\): /, "").replace(/[^a-z ]+/g, "").slice(0, 20) ?? null;
}

function allSteps(seed: number): readonly number[] {
  return Array.from({ length: stepsOfRun }, (_, index) => seed * 1_000_003 + index * 7_919);
}

function runOf(
  seed: number,
  steps: readonly number[],
  folder: string,
  { fault, spoil }: CheckOptions,
): SimulationOptions {
  return {
    seed,
    steps,
    folder,
    ...(fault === undefined ? {} : { fault }),
    ...(spoil === undefined ? {} : { spoil }),
  };
}

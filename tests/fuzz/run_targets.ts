/**
 * Fuzzes targets with the counters of an instrumented copy. `tests/fuzz/fuzz.ts` starts this
 * program in the copy. Its argument is a `Request` as JSON. It prints a `TargetReport` for each
 * target, one in a line.
 */
import { type BranchCounters, openBranchCounters } from "./engine/branch_counters.ts";
import type { BranchMap } from "./engine/instrumented_copy.ts";
import { fuzz } from "./engine/fuzz.ts";
import type { Fault, FuzzTarget } from "./engine/fuzz_target.ts";
import { countLibraryWork } from "./engine/library_work.ts";
import { seededRandom } from "./engine/random.ts";
import { targets } from "./targets/targets.ts";

/** What this program is asked to do. */
export interface FuzzRequest {
  readonly names: readonly string[];
  readonly corpora: Readonly<Record<string, readonly string[]>>;
  readonly seed: number;
  /** Duration of each target, in milliseconds. Null if only `executions` ends a target. */
  readonly milliseconds: number | null;
  readonly executions: number;
}

export interface TargetReport {
  readonly name: string;
  readonly executions: number;
  readonly pumps: number;
  readonly faults: readonly Fault[];
  readonly inputs: readonly string[];
  /** How many branches were reached, and how many the functions have that were called. */
  readonly reached: number;
  readonly branches: number;
  /** The lines of the branches that no input reached, by file. */
  readonly missed: Readonly<Record<string, readonly number[]>>;
  readonly milliseconds: number;
}

if (import.meta.main) {
  // The cast is safe: `fuzz.ts` writes the argument.
  const request = JSON.parse(Deno.args[0] ?? "") as FuzzRequest;
  const library = countLibraryWork();
  const map: BranchMap = JSON.parse(
    await Deno.readTextFile(new URL("branches.json", import.meta.url)),
  );
  for (const name of request.names) {
    const target = targets[name];
    if (target === undefined) throw new Error(`There is no target ${name}`);
    const counters = openBranchCounters(map.counters, map.count, library);
    console.log(JSON.stringify(await reportOf({ name, target, request, counters, map })));
  }
}

async function reportOf({ name, target, request, counters, map }: {
  readonly name: string;
  readonly target: FuzzTarget;
  readonly request: FuzzRequest;
  readonly counters: BranchCounters;
  readonly map: BranchMap;
}): Promise<TargetReport> {
  const { corpora, seed, milliseconds, executions } = request;
  const { files } = map;
  const start = performance.now();
  const outcome = await fuzz({
    target,
    counters,
    corpus: corpora[name] ?? [],
    words: ["\n", ...target.files.flatMap((file) => files[file]?.words ?? [])],
    random: seededRandom(seed),
    executions,
    isOver: () => milliseconds !== null && performance.now() - start > milliseconds,
    measuresTime: milliseconds !== null,
  });
  const missed: Record<string, number[]> = {};
  let [reached, all] = [0, 0];
  for (const file of target.files) {
    const { from, lines, functions } = files[file] ?? { from: 0, lines: [], functions: [] };
    const found = new Set(counters.reached(from, lines.length).map((branch) => branch - from));
    // A file of a parser can contain functions that are no part of the parser.
    const isPart = (index: number) => found.has(functions[index] ?? 0);
    missed[file] = lines.filter((_, index) => isPart(index) && !found.has(index));
    reached += found.size;
    all += lines.filter((_, index) => isPart(index)).length;
  }
  return {
    name,
    ...outcome,
    reached,
    branches: all,
    missed,
    milliseconds: performance.now() - start,
  };
}

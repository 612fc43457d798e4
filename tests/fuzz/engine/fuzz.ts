import type { BranchCounters } from "./branch_counters.ts";
import type { Fault, FuzzTarget, PumpedInput } from "./fuzz_target.ts";
import { durationFault, growthFault, randomPump } from "./growth.ts";
import { mutateInput, type MutationSources } from "./mutate_input.ts";
import type { SeededRandom } from "./random.ts";

/** How long a target is fuzzed, and with what. */
export interface FuzzPlan {
  readonly target: FuzzTarget;
  readonly counters: BranchCounters;
  readonly corpus: readonly string[];
  readonly words: readonly string[];
  readonly random: SeededRandom;
  /** Maximum number of executions of random inputs. */
  readonly executions: number;
  /** Returns true when the time is over. */
  isOver(): boolean;
  /** True to measure times too, which only a run by hand may do. */
  readonly measuresTime: boolean;
}

export interface FuzzOutcome {
  readonly executions: number;
  readonly pumps: number;
  readonly faults: readonly Fault[];
  /** Inputs that together reach every branch that any input has reached. */
  readonly inputs: readonly string[];
}

/** Pumped inputs cost much more than others, so one follows this many executions. */
const executionsPerPump = 150;

/** A target stops after this many different faults. */
const maxFaults = 12;

/** Executes the corpus and then mutated inputs. An input that reaches a new branch is kept. */
export async function fuzz(plan: FuzzPlan): Promise<FuzzOutcome> {
  const { target, counters, random } = plan;
  const inputs: string[] = [];
  const branches = new Map<string, readonly number[]>();
  const faults = new Map<string, Fault>();
  let executions = 0;
  let pumps = 0;
  const run = async (input: string) => {
    executions++;
    counters.reset();
    const reason = await reasonOf(target, input);
    if (reason !== null && !faults.has(kindOf(reason))) {
      faults.set(kindOf(reason), { input, reason });
    }
    if (!counters.isNew()) return;
    inputs.push(input);
    branches.set(input, counters.current());
  };
  for (const input of [...target.seeds, ...plan.corpus]) await run(input);
  if (inputs.length === 0) inputs.push("");
  const pumpWith = async (pump: PumpedInput, measuresTime: boolean) => {
    pumps++;
    const fault = await growthFault(target, pump, counters) ??
      (measuresTime ? await durationFault(target, pump) : null);
    if (fault === null) return;
    faults.set(fault.reason.startsWith("parse") ? kindOf(fault.reason) : fault.input, fault);
  };
  for (const pump of target.pumps ?? []) await pumpWith(pump, plan.measuresTime);
  const sources: MutationSources = { inputs, words: plan.words };
  for (let count = 0; count < plan.executions && !plan.isOver(); count++) {
    if (faults.size >= maxFaults) break;
    await run(mutateInput(random.of(inputs), sources, random));
    if (count % executionsPerPump !== 0 || target.superlinear !== undefined) continue;
    await pumpWith(randomPump(sources, random), plan.measuresTime);
  }
  return { executions, pumps, faults: [...faults.values()], inputs: covering(branches) };
}

/** Returns why the target fails for an input, or null. */
async function reasonOf(target: FuzzTarget, input: string): Promise<string | null> {
  let result: unknown;
  try {
    result = await target.parse(input);
  } catch (error) {
    return target.isDocumented(error) ? null : `parse: ${stackOf(error)}`;
  }
  try {
    await target.check?.(result, input);
  } catch (error) {
    return `check: ${stackOf(error)}`;
  }
  return null;
}

function stackOf(error: unknown): string {
  return error instanceof Error ? `${error.stack ?? error.message}` : String(error);
}

/** Returns what faults of one cause have in common: where the error was thrown. */
function kindOf(reason: string): string {
  const place = /^ +at .*/m.exec(reason)?.[0] ?? "";
  return `${reason.slice(0, 24).replaceAll(/\d+/g, "0")} ${place}`;
}

/** Returns few short inputs that together reach all branches of all inputs. */
function covering(branches: ReadonlyMap<string, readonly number[]>): readonly string[] {
  const shortestFirst = [...branches].sort(([a], [b]) => a.length - b.length || (a < b ? -1 : 1));
  const reached = new Set<number>();
  const kept: string[] = [];
  for (const [input, list] of shortestFirst) {
    if (list.every((branch) => reached.has(branch))) continue;
    for (const branch of list) reached.add(branch);
    kept.push(input);
  }
  return kept;
}

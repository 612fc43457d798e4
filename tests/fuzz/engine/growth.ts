import process from "node:process";
import type { BranchCounters } from "./branch_counters.ts";
import type { Fault, FuzzTarget, PumpedInput } from "./fuzz_target.ts";
import type { MutationSources } from "./mutate_input.ts";
import type { SeededRandom } from "./random.ts";

/** Returns an input that repeats a part of another input, or a word between its parts. */
export function randomPump({ inputs, words }: MutationSources, random: SeededRandom): PumpedInput {
  const input = random.of(inputs);
  const from = random.below(input.length + 1);
  const to = from + random.below(13);
  const piece = random.below(3) === 0 ? random.of(words) : input.slice(from, to);
  return {
    before: input.slice(0, from),
    piece: piece === "" ? "a" : piece,
    after: input.slice(random.below(2) === 0 ? to : input.length),
  };
}

export function pumped({ before, piece, after }: PumpedInput, length: number): string {
  return before + piece.repeat(Math.ceil(length / piece.length)) + after;
}

/** The length of the shortest of three inputs whose branches are counted, and of its timed twin. */
const countedLength = 1_500;
const timedLength = 50_000;

/** Fewer steps than this are never a fault, however they grow. */
const fewSteps = 60_000;

/** A linear parser needs a small part of this processor time for the longest input. */
const longMs = 700;

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/**
 * Parses a pumped input at one, two and four times a length. Returns a fault if the number of
 * branches grows with the square of the length, or faster.
 */
export async function growthFault(
  target: FuzzTarget,
  pump: PumpedInput,
  counters: BranchCounters,
): Promise<Fault | null> {
  const steps: number[] = [];
  for (const length of [countedLength, 2 * countedLength, 4 * countedLength]) {
    const input = pumped(pump, length);
    counters.reset();
    const fault = await faultOf(target, input);
    if (fault !== null) return fault;
    steps.push(counters.steps());
  }
  const [once = 0, twice = 0, fourTimes = 0] = steps;
  if (fourTimes < fewSteps || fourTimes < 3 * twice || twice < 3 * once) return null;
  return { input: JSON.stringify(pump), reason: `steps grow superlinearly: ${steps.join(", ")}` };
}

/**
 * Measures the processor time of one parse of a very long input, for work that has no branches of its own,
 * such as regular expressions. Only for runs by hand, because times depend on the machine.
 */
export async function durationFault(target: FuzzTarget, pump: PumpedInput): Promise<Fault | null> {
  let durations: readonly number[] = [];
  // Other programs can delay one attempt, but not three.
  for (let attempt = 0; attempt < 3; attempt++) {
    const measured: number[] = [];
    for (const length of [timedLength, 2 * timedLength, 4 * timedLength]) {
      const input = pumped(pump, length);
      const start = cpuMs();
      const fault = await faultOf(target, input);
      if (fault !== null) return fault;
      measured.push(Math.round(cpuMs() - start));
    }
    durations = measured.map((one, index) => Math.min(one, durations[index] ?? Infinity));
    const [once = 0, twice = 0, fourTimes = 0] = durations;
    if (fourTimes < longMs || fourTimes < 3 * twice || twice < 3 * once) return null;
  }
  const reason = `milliseconds grow superlinearly: ${durations.join(", ")}`;
  return { input: JSON.stringify(pump), reason };
}

async function faultOf(target: FuzzTarget, input: string): Promise<Fault | null> {
  try {
    await target.parse(input);
    return null;
  } catch (error) {
    if (target.isDocumented(error)) return null;
    const reason = `parse: ${error instanceof Error ? error.stack : error}`;
    return {
      input: input.length < 2_000 ? input : `${input.slice(0, 200)} … ${input.length}`,
      reason,
    };
  }
}

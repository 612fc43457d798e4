import type { Clock } from "../../../../src/runtime/runtime.ts";

/** Signs of life come every second and not every fifteen. */
export const hurriedClock: Clock = {
  now: () => Date.now(),
  elapsedMs: () => performance.now() * hurry,
  after(delayMs, work) {
    const timer = setTimeout(work, delayMs / hurry);
    return () => clearTimeout(timer);
  },
};

const hurry = 15;

/** Waits by the clock of the machine. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

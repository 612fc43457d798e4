import type { Clock } from "../../src/runtime/runtime.ts";

/** A clock that stands still until it is moved. */
export function handClock(): { readonly clock: Clock; readonly advance: (ms: number) => void } {
  let now = 0;
  const timers = new Set<{ readonly at: number; readonly work: () => void }>();
  return {
    clock: {
      now: () => now,
      elapsedMs: () => now,
      after(delayMs, work) {
        const timer = { at: now + delayMs, work };
        timers.add(timer);
        return () => timers.delete(timer);
      },
    },
    advance(ms) {
      now += ms;
      for (const timer of timers) {
        if (timer.at > now) continue;
        timers.delete(timer);
        timer.work();
      }
    },
  };
}

import type { Clock } from "./runtime.ts";
import { pause } from "./system_runtime.ts";

/** Called between two pieces of long work: it waits where others have waited long enough. */
export type Yielding = () => Promise<void>;

/** How long the others may wait. */
const maxTurnMs = 5;

/**
 * Lets the process see to other requests in between. As long as there is anything left to run, it
 * looks at its sockets only now and then, which took 30 ms beside an export: it must really pause,
 * be it for a moment. A pause takes a millisecond, so it is made only when it is due.
 */
export function createYielding(clock: Clock): Yielding {
  let turnBeganAt = clock.elapsedMs();
  return async () => {
    if (clock.elapsedMs() - turnBeganAt < maxTurnMs) return;
    await pause(0);
    turnBeganAt = clock.elapsedMs();
  };
}

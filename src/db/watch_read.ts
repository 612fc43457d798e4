import type { Clock } from "../runtime/runtime.ts";
import type { ReadLimits } from "./driver.ts";

/** The reason why a read, or its wait, was ended: it timed out, or the client disconnected. */
export type ReadEnd = "late" | "left";

/**
 * The time after which a read begins to watch for a disconnected client, in milliseconds. Most
 * reads take less time than the creation of the signal.
 */
const lookForClientAfterMs = 50;

/** Calls `end` once after `limitMs` or when the client disconnects. Returns a stop function. */
export function watchRead(
  limits: ReadLimits,
  limitMs: number,
  clock: Clock,
  end: (why: ReadEnd) => void,
): () => void {
  let stop = clock.after(Math.min(limitMs, lookForClientAfterMs), () => {
    if (limitMs <= lookForClientAfterMs) end("late");
    else stop = watchClient(limits.signal, limitMs - lookForClientAfterMs, clock, end);
  });
  return () => stop();
}

function watchClient(
  signal: AbortSignal,
  leftMs: number,
  clock: Clock,
  end: (why: ReadEnd) => void,
): () => void {
  const stop = () => {
    cancel();
    signal.removeEventListener("abort", leave);
  };
  const leave = () => {
    stop();
    end("left");
  };
  const cancel = clock.after(leftMs, () => {
    stop();
    end("late");
  });
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave);
  return stop;
}

import type { Clock } from "../runtime/runtime.ts";
import type { ReadLimits } from "./driver.ts";

/** The reason why a read, or its wait, was ended: its time was over, or its client had left. */
export type ReadEnd = "late" | "left";

/** The signal of a request costs more than most reads, which have ended by this time. */
const lookForClientAfterMs = 50;

/**
 * Calls `end` once when `limitMs` are over or the client has left. Returns the function that ends
 * the watch.
 */
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

import type { Clock } from "../runtime/runtime.ts";
import type { ReadLimits } from "./driver.ts";

/** The reason why a running or waiting read was ended: a timeout, or its client disconnected. */
export type ReadEnd = "late" | "left";

/** Time until a read watches for a disconnected client, in milliseconds. Most reads are faster. */
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

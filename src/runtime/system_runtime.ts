import { setImmediate } from "node:timers";
import type { Observer } from "./observation.ts";
import type { Clock, Random, Runtime } from "./runtime.ts";

/** The real world: the machine's clock, unpredictable bytes, the variables of the process. */
export function systemRuntime(observe: Observer): Runtime {
  return { clock: systemClock, random: systemRandom, environment, observe };
}

/**
 * Waits, and keeps the process alive meanwhile, which a timer of the {@link Clock} does not: for
 * the moments in which nothing else holds it, as between two tries to listen.
 */
export function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, delayMs));
}

/**
 * Runs `work` once the event loop has seen to what is ready: a microtask would come before the
 * requests that wait to be read, a timer a millisecond too late.
 */
export function soon(work: () => void): void {
  setImmediate(work);
}

const systemClock: Clock = {
  now: () => Date.now(),
  elapsedMs: () => performance.now(),
  after: callAfter,
};

const systemRandom: Random = {
  bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
};

/** Timers take 31 bits of milliseconds, and run at once when asked for more. */
const maxTimerMs = 2 ** 31 - 1;

function callAfter(delayMs: number, work: () => void): () => void {
  const stepMs = Math.min(delayMs, maxTimerMs);
  let cancel = () => clearTimeout(timer);
  const timer = setTimeout(() => {
    if (stepMs === delayMs) work();
    else cancel = callAfter(delayMs - stepMs, work);
  }, stepMs);
  timer.unref();
  return () => cancel();
}

/** Undefined, too, where the process may not read its environment. */
function environment(name: string): string | undefined {
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted"
    ? Deno.env.get(name)
    : undefined;
}

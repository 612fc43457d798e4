import process from "node:process";
import { isDeno } from "./host.ts";
import type { Observer } from "./observation.ts";
import type { Clock, Cron, Random, Runtime } from "./runtime.ts";

/** The runtime of the system: the machine's clock, unpredictable bytes and variables. */
export function systemRuntime(observe: Observer): Runtime {
  const cron = platformCron();
  return {
    ...{ clock: systemClock, random: systemRandom, environment, observe },
    ...(cron === null ? {} : { cron }),
  };
}

/** The clock of the system, for runtimes outside tests. */
export const systemClock: Clock = {
  now: () => Date.now(),
  elapsedMs: () => performance.now(),
  after: callAfter,
};

const systemRandom: Random = {
  bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
};

/** A timer takes 31 bits of milliseconds, and fires at once for a longer delay. */
const maxTimerMs = 2 ** 31 - 1;

function callAfter(delayMs: number, work: () => void): () => void {
  const stepMs = Math.min(delayMs, maxTimerMs);
  let cancel = () => clearTimeout(timer);
  const timer = setTimeout(() => {
    if (stepMs === delayMs) work();
    else cancel = callAfter(delayMs - stepMs, work);
  }, stepMs);
  // Older versions of Deno, which hosts may have, number their timers.
  if (typeof timer === "number") Deno.unrefTimer(timer);
  else timer.unref();
  return () => cancel();
}

/**
 * A variable of the environment of the process; undefined also where the process may not read it.
 */
export function environment(name: string): string | undefined {
  if (!isDeno) return process.env[name];
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted"
    ? Deno.env.get(name)
    : undefined;
}

/** The function of Deno that registers a cron. */
type DenoCron = (
  name: string,
  schedule: string,
  options: { readonly signal: AbortSignal },
  work: () => Promise<void>,
) => Promise<void>;

/** The cron of Deno. Null without `--unstable-cron`, and on other platforms. */
function platformCron(): Cron | null {
  // An own interface in place of the one that only some programs have.
  const { Deno: platform } = globalThis as { Deno?: { cron?: DenoCron } };
  const register = platform?.cron;
  if (register === undefined) return null;
  return (name, schedule, work) => {
    const stop = new AbortController();
    void register(name, schedule, { signal: stop.signal }, work);
    return () => stop.abort();
  };
}

import process from "node:process";
import { isDeno } from "./host.ts";
import type { Clock, Cron, Observer, Random, Runtime } from "./runtime.ts";

export function systemRuntime(observe: Observer): Runtime {
  const cron = platformCron();
  return {
    ...{ clock: systemClock, random: systemRandom, environment: environmentVariable, observe },
    ...(cron === null ? {} : { cron }),
  };
}

export const systemClock: Clock = {
  now: () => Date.now(),
  elapsedMs: () => performance.now(),
  after: callAfter,
};

const systemRandom: Random = { bytes: (length) => crypto.getRandomValues(new Uint8Array(length)) };

/** The maximum delay of a timer, in milliseconds. A timer fires immediately for a longer delay. */
const maxTimerMs = 2 ** 31 - 1;

function callAfter(delayMs: number, work: () => void): () => void {
  const stepMs = Math.min(delayMs, maxTimerMs);
  let cancel = () => clearTimeout(timer);
  const timer = setTimeout(() => {
    if (stepMs === delayMs) work();
    else cancel = callAfter(delayMs - stepMs, work);
  }, stepMs);
  // In older versions of Deno, a timer is a number and has no `unref`.
  if (typeof timer === "number") Deno.unrefTimer(timer);
  else timer.unref();
  return () => cancel();
}

export function environmentVariable(name: string): string | undefined {
  if (!isDeno) return process.env[name];
  return Deno.permissions.querySync({ name: "env", variable: name }).state === "granted"
    ? Deno.env.get(name)
    : undefined;
}

type DenoCron = (
  name: string,
  schedule: string,
  options: { readonly signal: AbortSignal },
  work: () => Promise<void>,
) => Promise<void>;

/** Returns the cron of Deno. Returns null without `--unstable-cron`, and on other platforms. */
function platformCron(): Cron | null {
  // `Deno.cron` is declared only with `--unstable-cron`, so this type declares it.
  const { Deno: platform } = globalThis as { Deno?: { cron?: DenoCron } };
  const register = platform?.cron;
  if (register === undefined) return null;
  return (name, schedule, work) => {
    const stop = new AbortController();
    void register(name, schedule, { signal: stop.signal }, work);
    return () => stop.abort();
  };
}

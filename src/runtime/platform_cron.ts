import type { Cron } from "./runtime.ts";

/** The function of Deno that registers a cron. */
type DenoCron = (
  name: string,
  schedule: string,
  options: { readonly signal: AbortSignal },
  work: () => Promise<void>,
) => Promise<void>;

/**
 * The cron of Deno; null where Deno runs without `--unstable-cron`, or where this is another
 * platform.
 */
export function platformCron(): Cron | null {
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

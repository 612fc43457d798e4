import { browserEnvironment, type ClientEnvironment } from "../../../exports/client.ts";

/** The environment of a client for which time passes faster: its pauses are tested, not awaited. */
export function fastEnvironment(factor: number): ClientEnvironment {
  const real = browserEnvironment();
  return {
    ...real,
    now: () => real.now() * factor,
    after: (ms, run) => real.after(ms === requestLimitMs ? ms : Math.max(0, ms) / factor, run),
  };
}

/** The client's time limit for a request. A shorter limit would depend on the machine's speed. */
const requestLimitMs = 30_000;

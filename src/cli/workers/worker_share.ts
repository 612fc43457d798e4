/** Data that a supervisor passes to each of its workers, so that they act as one service. */
export interface WorkerShare {
  /** The number of the worker, from 1. A replacement has the same number. */
  readonly number: number;
  /** The number of workers. */
  readonly count: number;
  /** The token in the banner. */
  readonly token: string;
  /** The source of secrets that neither the configuration nor the environment sets. */
  readonly secret: string;
  /** The path of a key-value store, if no configuration names one. */
  readonly kv: string;
}

/** The environment variable with the share, because every user can read arguments. */
const variable = "SERVICE_WORKER";

/** Returns the share as an environment variable of a child. */
export function shareVariable(share: WorkerShare): Record<string, string> {
  return { [variable]: JSON.stringify(share) };
}

/**
 * Removes the share from the environment, which children inherit. Returns null if this process is
 * no worker.
 */
export function takeShare(): WorkerShare | null {
  if (Deno.permissions.querySync({ name: "env", variable }).state !== "granted") return null;
  const text = Deno.env.get(variable);
  if (text === undefined) return null;
  Deno.env.delete(variable);
  // Only a supervisor sets it, by the function above.
  return JSON.parse(text) as WorkerShare;
}

/** The data that a supervisor passes to workers, so that they behave as one service. */
export interface WorkerShare {
  /** The number of the worker, from 1. A replacement has the same number. */
  readonly number: number;
  readonly count: number;
  /** The bearer token that the banner shows. */
  readonly token: string;
  /** A random string from which workers derive secrets that are not configured. */
  readonly secret: string;
  /** The path of the workers' key-value store if they serve without a configuration file. */
  readonly kv: string;
}

/** The environment variable for the data: arguments would be visible to all users. */
const variable = "SERVICE_WORKER";

/** Returns the environment variable that passes the data to a child process. */
export function shareVariable(share: WorkerShare): Record<string, string> {
  return { [variable]: JSON.stringify(share) };
}

/**
 * Returns this worker's data, and removes it from the environment, so that children do not inherit
 * it. Returns null if this process is no worker.
 */
export function takeShare(): WorkerShare | null {
  if (Deno.permissions.querySync({ name: "env", variable }).state !== "granted") return null;
  const text = Deno.env.get(variable);
  if (text === undefined) return null;
  Deno.env.delete(variable);
  // The cast is safe: only a supervisor sets the variable, by `shareVariable`.
  return JSON.parse(text) as WorkerShare;
}

/** The data that a supervisor passes to its workers, so that they act as one service. */
export interface WorkerShare {
  /** The number of the worker, starting at 1. A replacement worker keeps the number. */
  readonly number: number;
  readonly count: number;
  /** The bearer token that the banner shows. */
  readonly token: string;
  /** A random string from which workers derive the secrets that are not configured. */
  readonly secret: string;
  /** The path of the key-value store for workers if no configuration names a store. */
  readonly kv: string;
}

/** The environment variable with the worker's data. All users can read a process's arguments. */
const variable = "SERVICE_WORKER";

/** Returns the environment variable that passes the data to a child process. */
export function shareVariable(share: WorkerShare): Record<string, string> {
  return { [variable]: JSON.stringify(share) };
}

/**
 * Removes the worker's data from the environment, which children inherit, and returns the data.
 * Returns null if this process is not a worker.
 */
export function takeShare(): WorkerShare | null {
  if (Deno.permissions.querySync({ name: "env", variable }).state !== "granted") return null;
  const text = Deno.env.get(variable);
  if (text === undefined) return null;
  Deno.env.delete(variable);
  // The cast is safe: only a supervisor sets the variable, by `shareVariable`.
  return JSON.parse(text) as WorkerShare;
}

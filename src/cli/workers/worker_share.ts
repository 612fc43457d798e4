/** What a supervisor hands to each of its workers, so that they serve as one. */
export interface WorkerShare {
  /** Counts from 1. A worker that takes the place of another has its number. */
  readonly number: number;
  /** How many workers there are. */
  readonly count: number;
  /** The token that the banner shows. */
  readonly token: string;
  /** What secrets are made of that neither the configuration nor the environment sets. */
  readonly secret: string;
  /** The path of a key-value store, where no configuration names one. */
  readonly kv: string;
}

/** The environment variable that hands the share over: arguments could be read by every user. */
const variable = "SERVICE_WORKER";

/** The share as the variable of a child. */
export function shareVariable(share: WorkerShare): Record<string, string> {
  return { [variable]: JSON.stringify(share) };
}

/**
 * Takes the share out of the environment, which the children of this process inherit; null if it
 * is no worker.
 */
export function takeShare(): WorkerShare | null {
  if (Deno.permissions.querySync({ name: "env", variable }).state !== "granted") return null;
  const text = Deno.env.get(variable);
  if (text === undefined) return null;
  Deno.env.delete(variable);
  // Only a supervisor sets it, by the function above.
  return JSON.parse(text) as WorkerShare;
}

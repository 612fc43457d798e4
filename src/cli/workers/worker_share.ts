import type { Random } from "../../runtime/runtime.ts";

export interface WorkerShare {
  /** The number of the worker, from 1. A replacement keeps the number. */
  readonly number: number;
  readonly count: number;
  /** The bearer token that the banner shows. */
  readonly token: string;
  /** A random string from which workers derive secrets that are not configured. */
  readonly secret: string;
  readonly kv: string;
}

/** Every user can see arguments, so an environment variable passes the data. */
const variable = "SERVICE_WORKER";

export function shareVariable(share: WorkerShare): Record<string, string> {
  return { [variable]: JSON.stringify(share) };
}

/** Takes the worker's data out of the environment. Returns null if this process is no worker. */
export function takeShare(): WorkerShare | null {
  if (Deno.permissions.querySync({ name: "env", variable }).state !== "granted") return null;
  const text = Deno.env.get(variable);
  if (text === undefined) return null;
  Deno.env.delete(variable);
  // The cast is safe: only a supervisor sets the variable, by `shareVariable`.
  return JSON.parse(text) as WorkerShare;
}

/** Creates a token of 192 random bits. Without `t_`, it could begin with `-` like an option. */
export function makeServiceToken(random: Random): string {
  return `t_${random.bytes(24).toBase64({ alphabet: "base64url" })}`;
}

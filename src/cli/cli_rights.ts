import { Buffer } from "node:buffer";
import { timingSafeEqual } from "node:crypto";
import { isLoopback } from "../protocol/loopback.ts";
import type { Random } from "../runtime/runtime.ts";

/** The rights of callers to tables that are served without a configuration file. */
export interface CliRights {
  /** The bearer token for requests; null if no request needs one. */
  readonly token: string | null;
  /** True if reads need the token, too, and not only writes. */
  readonly readsNeedToken: boolean;
  /** True if only programs on this machine may send requests. See {@link dnsRebindingGuard}. */
  readonly localOnly: boolean;
  readonly writable: boolean;
}

export interface CliRightsOptions {
  readonly host: string;
  /** True if anyone may read, whatever the address of the service is. */
  readonly public: boolean;
  readonly writable: boolean;
}

/**
 * Returns the rights of callers. Anyone may read if only this machine can connect; else reads need
 * the token, unless `public` is set. Writes always need the token.
 */
export function decideCliRights(facts: CliRightsOptions, token: string): CliRights {
  const localOnly = !facts.public && isLoopback(facts.host);
  const readsNeedToken = !facts.public && !localOnly;
  const isNeeded = facts.writable || readsNeedToken;
  return { token: isNeeded ? token : null, readsNeedToken, localOnly, writable: facts.writable };
}

/** The result of checking the `Authorization` header of a request against the token. */
export type TokenStatus = "absent" | "right" | "wrong";

/** Compares the bearer token of a request with the service's token, in constant time. */
export function checkToken(authorization: string | undefined, token: string): TokenStatus {
  if (authorization === undefined) return "absent";
  const presented = /^Bearer +([^ ]+) *$/i.exec(authorization)?.[1];
  return presented !== undefined && sameText(presented, token) ? "right" : "wrong";
}

/** Creates a token of 192 random bits. Its prefix keeps it from looking like an option. */
export function makeServiceToken(random: Random): string {
  return `t_${random.bytes(24).toBase64({ alphabet: "base64url" })}`;
}

function sameText(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  // The token's length is not secret, but its bytes are compared in constant time.
  return a.length === b.length && timingSafeEqual(a, b);
}

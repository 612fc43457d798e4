import { Buffer } from "node:buffer";
import { timingSafeEqual } from "node:crypto";
import { isLoopback } from "../protocol/loopback.ts";
import type { Random } from "../runtime/runtime.ts";

/** Who may do what when nothing but the command line says so. */
export interface CliRights {
  /** The bearer token that was made for this run, or null where nothing needs one. */
  readonly token: string | null;
  /** Whether reading needs it too. */
  readonly readsNeedToken: boolean;
  /** Whether only this machine may ask, and only by its own name: see `dnsRebindingGuard`. */
  readonly localOnly: boolean;
  readonly writable: boolean;
}

/** What decides about {@link CliRights}. */
export interface CliRightsOptions {
  readonly host: string;
  /** The reads are for everybody, wherever they come from. */
  readonly public: boolean;
  readonly writable: boolean;
}

/**
 * Reads are open where only this machine can ask. On any other address they need the token, unless
 * they were said to be public. Writes always need it.
 */
export function decideCliRights(facts: CliRightsOptions, random: Random): CliRights {
  const localOnly = !facts.public && isLoopback(facts.host);
  const readsNeedToken = !facts.public && !localOnly;
  const token = facts.writable || readsNeedToken ? makeToken(random) : null;
  return { token, readsNeedToken, localOnly, writable: facts.writable };
}

/** What the `Authorization` header of a request says about `token`. */
export type TokenCheck = "absent" | "right" | "wrong";

/** Compares the bearer token of a request with the one that was printed, in constant time. */
export function checkToken(authorization: string | undefined, token: string): TokenCheck {
  if (authorization === undefined) return "absent";
  const presented = /^Bearer +([^ ]+) *$/i.exec(authorization)?.[1];
  return presented !== undefined && sameText(presented, token) ? "right" : "wrong";
}

/** 192 bits, readable as one word; the prefix keeps it from looking like an option to a shell. */
function makeToken(random: Random): string {
  return `t_${random.bytes(24).toBase64({ alphabet: "base64url" })}`;
}

function sameText(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  // The length of the token is no secret.
  return a.length === b.length && timingSafeEqual(a, b);
}

import { Problem } from "../../problem/problem.ts";
import { hexToBytes } from "../../protocol/byte_text.ts";
import type { WebhookDelivery } from "./billing_provider.ts";
import { JsonFields } from "./json_fields.ts";

/** A signature to check: the bytes that were signed, and the codes that a header offers. */
export interface OfferedSignature {
  /** Comes before the body; empty where the body alone is signed. */
  readonly prefix: string;
  /** During a rotation there are several; one that is right suffices. */
  readonly codes: readonly Uint8Array<ArrayBuffer>[];
  /** Seconds since 1970 as the header has them; null if nothing says when it was signed. */
  readonly timestamp: string | null;
}

/** What deliveries of a provider are verified with. */
export interface SignatureRules {
  /** The keys of HMAC-SHA-256, of which one has to match. */
  readonly keys: readonly Uint8Array<ArrayBuffer>[];
  /** How old a delivery may be, and how far in the future. */
  readonly toleranceMs: number;
}

/**
 * Verifies the signature of a delivery over its raw bytes: HMAC-SHA-256, every key with every code,
 * each compared in constant time. Throws the same 400 for every fault; its cause says which it was.
 */
export async function verifySignature(
  delivery: WebhookDelivery,
  { prefix, codes, timestamp }: OfferedSignature,
  { keys, toleranceMs }: SignatureRules,
): Promise<void> {
  if (timestamp !== null) {
    if (!/^\d{1,12}$/.test(timestamp)) throw refusedDelivery("the timestamp is not a number");
    const distanceMs = Math.abs(delivery.now - Number(timestamp) * 1000);
    if (distanceMs > toleranceMs) throw refusedDelivery("it was signed too long ago or too late");
  }
  if (codes.length === 0) throw refusedDelivery("there is no signature");
  if (codes.length > maxCodes) throw refusedDelivery("there are too many signatures");
  const message = joined(new TextEncoder().encode(prefix), delivery.body);
  let matches = false;
  for (const bytes of keys) {
    const key = await crypto.subtle.importKey("raw", bytes, hmac, false, ["verify"]);
    for (const code of codes) {
      // No early exit: the time does not show which secret is the current one.
      const isRight = await crypto.subtle.verify("HMAC", key, code, message);
      matches ||= isRight;
    }
  }
  if (!matches) throw refusedDelivery("no signature matches");
}

const hmac = { name: "HMAC", hash: "SHA-256" };

const maxCodes = 16;

/** The refusal of a delivery that is not to be believed; `reason` is for the observer alone. */
export function refusedDelivery(reason: string): Problem {
  return new Problem(
    "webhook-signature-invalid",
    "Cannot accept this delivery: its signature is not valid",
    { cause: new Error(reason) },
  );
}

/** The one value of a header that must be there. Throws a 400. */
export function headerOf({ headers }: WebhookDelivery, name: string): string {
  const value = headers.get(name);
  if (value === null || value === "") throw refusedDelivery(`the header ${name} is missing`);
  if (value.length > 4_096) throw refusedDelivery(`the header ${name} is too long`);
  return value;
}

/** Reads the pairs `name=value` of a header, in their order. */
export function pairsOf(header: string, separator: string): readonly (readonly [string, string])[] {
  return header.split(separator).map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const;
  });
}

/** Reads hexadecimal codes; those that are none cannot match, and are left out. */
export function hexCodes(texts: readonly string[]): readonly Uint8Array<ArrayBuffer>[] {
  return texts.filter((text) => /^[0-9a-f]{64}$/i.test(text))
    .map((text) => new Uint8Array(hexToBytes(text)));
}

/** The keys of secrets that are used as they are. */
export function keysOf(secrets: readonly string[]): readonly Uint8Array<ArrayBuffer>[] {
  return secrets.map((secret) => new TextEncoder().encode(secret));
}

/** Parses the body of a delivery that was verified. Throws a 400 where it is no JSON object. */
export function parseDelivery({ body }: WebhookDelivery): JsonFields {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    if (typeof value === "object" && value !== null) return new JsonFields(value);
  } catch (cause) {
    // A TypeError says that it is not UTF-8, a SyntaxError that it is not JSON.
    if (!(cause instanceof TypeError || cause instanceof SyntaxError)) throw cause;
  }
  throw unreadableDelivery();
}

/** The refusal of a delivery that is signed, and yet no event of the provider. */
export function unreadableDelivery(): Problem {
  return new Problem("invalid-body", "Cannot read this delivery: it is no event of the provider");
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(first.length + second.length);
  bytes.set(first);
  bytes.set(second, first.length);
  return bytes;
}

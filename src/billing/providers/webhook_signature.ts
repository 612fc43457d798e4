import { Problem } from "../../problem/problem.ts";
import { hexToBytes } from "../../protocol/byte_text.ts";
import { parseJsonObject } from "../../protocol/json_object.ts";
import type { WebhookDelivery } from "./billing_provider.ts";
import { JsonFields } from "./json_fields.ts";

export interface ReceivedSignature {
  /** The string that precedes the body in the signed bytes; "" if only the body is signed. */
  readonly prefix: string;
  /** The header's codes (HMACs): several while secrets are rotated. One valid code is enough. */
  readonly codes: readonly Uint8Array<ArrayBuffer>[];
  /** Signing time in seconds since 1970, as in the header. Null if the header has no time. */
  readonly timestamp: string | null;
}

export interface SignatureRules {
  readonly keys: readonly Uint8Array<ArrayBuffer>[];
  readonly toleranceMs: number;
}

/** Throws the same 400 for every error. Compares every key with every code in constant time. */
export async function verifySignature(
  delivery: WebhookDelivery,
  { prefix, codes, timestamp }: ReceivedSignature,
  { keys, toleranceMs }: SignatureRules,
): Promise<void> {
  if (timestamp !== null) {
    if (!/^\d{1,12}$/.test(timestamp)) throw refusedDelivery("the timestamp is not a number");
    const distanceMs = Math.abs(delivery.now - Number(timestamp) * 1000);
    if (distanceMs > toleranceMs) throw refusedDelivery("it was signed too long ago or too late");
  }
  if (codes.length === 0) throw refusedDelivery("there is no signature");
  if (codes.length > maxCodes) throw refusedDelivery("there are too many signatures");
  const message = await new Blob([prefix, delivery.body]).arrayBuffer();
  let matches = false;
  for (const bytes of keys) {
    const key = await crypto.subtle.importKey("raw", bytes, hmac, false, ["verify"]);
    for (const code of codes) {
      // All codes are compared: the time of an early exit would reveal which secret is current.
      const isRight = await crypto.subtle.verify("HMAC", key, code, message);
      matches ||= isRight;
    }
  }
  if (!matches) throw refusedDelivery("no signature matches");
}

export async function verifyTimedSignature(
  delivery: WebhookDelivery,
  { header, separator, time, code, joint }: {
    readonly header: string;
    readonly separator: string;
    /** The name of the header's pair that contains the time, in seconds since 1970. */
    readonly time: string;
    /** The name of the header's pairs with hexadecimal codes: several while secrets are rotated. */
    readonly code: string;
    readonly joint: string;
  },
  rules: SignatureRules,
): Promise<void> {
  const pairs = headerOf(delivery, header).split(separator).map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()] as const;
  });
  const valuesOf = (wanted: string) =>
    pairs.filter(([name]) => name === wanted).map(([, value]) => value);
  const [timestamp, ...others] = valuesOf(time);
  if (timestamp === undefined || others.length > 0) {
    throw refusedDelivery("there is not one timestamp");
  }
  const codes = decodeHexCodes(valuesOf(code));
  await verifySignature(delivery, { prefix: `${timestamp}${joint}`, codes, timestamp }, rules);
}

const hmac = { name: "HMAC", hash: "SHA-256" };

const maxCodes = 16;

/** Returns the 400 for a delivery with an invalid signature. Only the operator sees `reason`. */
export function refusedDelivery(reason: string): Problem {
  return new Problem(
    "webhook-signature-invalid",
    "Cannot accept this delivery: its signature is not valid",
    { cause: new Error(reason) },
  );
}

export function headerOf({ headers }: WebhookDelivery, name: string): string {
  const value = headers.get(name);
  if (value === null || value === "") throw refusedDelivery(`the header ${name} is missing`);
  if (value.length > 4_096) throw refusedDelivery(`the header ${name} is too long`);
  return value;
}

/** Decodes hexadecimal codes. Omits invalid codes, which can match no signature. */
export function decodeHexCodes(codes: readonly string[]): readonly Uint8Array<ArrayBuffer>[] {
  return codes.filter((code) => /^[0-9a-f]{64}$/i.test(code))
    .map((code) => new Uint8Array(hexToBytes(code)));
}

export function hmacKeysOf(secrets: readonly string[]): readonly Uint8Array<ArrayBuffer>[] {
  return secrets.map((secret) => new TextEncoder().encode(secret));
}

export function parseDelivery({ body }: WebhookDelivery): JsonFields {
  const object = parseJsonObject(body);
  if (object === null) throw unreadableDelivery();
  return new JsonFields(object);
}

export function unreadableDelivery(): Problem {
  return new Problem("invalid-body", "Cannot read this delivery: it is no event of the provider");
}

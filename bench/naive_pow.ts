/**
 * The reference of `pow_bench.ts`: the protocol of docs/proof-of-work.md, as a good engineer writes
 * it quickly with `node:crypto` and JSON. It checks the same things in the same order.
 */
import { Buffer } from "node:buffer";
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { FingerprintedRequest } from "../src/guard/pow/request_fingerprint.ts";

export function naiveIssue(
  facts: FingerprintedRequest,
  difficulty: number,
  secret: string,
): string {
  const payload = JSON.stringify({
    v: 1,
    d: difficulty,
    exp: Date.now() + 120_000,
    nonce: randomBytes(16).toString("base64url"),
    fp: fingerprint(facts),
  });
  const code = createHmac("sha256", secret).update(payload).digest("base64url");
  return `${Buffer.from(payload).toString("base64url")}.${code}`;
}

export function naiveVerify(
  headers: Headers,
  facts: FingerprintedRequest,
  secret: string,
): boolean {
  const token = headers.get("service-pow-challenge") ?? "";
  const nonce = headers.get("service-pow-nonce") ?? "";
  const [encoded = "", code = ""] = token.split(".");
  const payload = Buffer.from(encoded, "base64url");
  const expected = createHmac("sha256", secret).update(payload).digest();
  const given = Buffer.from(code, "base64url");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return false;
  if (given.toString("base64url") !== code) return false;
  const challenge = JSON.parse(payload.toString());
  if (challenge.v !== 1 || challenge.exp < Date.now()) return false;
  if (challenge.fp !== fingerprint(facts)) return false;
  const digest = createHash("sha256").update(`${token}:${nonce}`).digest();
  return Math.clz32(digest.readUInt32BE(0)) >= challenge.d;
}

function fingerprint({ method, path, query, body, userId }: FingerprintedRequest): string {
  const bodyHash = createHash("sha256").update(body).digest("hex");
  const fields = JSON.stringify([method, path, query, bodyHash, userId]);
  return createHash("sha256").update(fields).digest("base64url");
}

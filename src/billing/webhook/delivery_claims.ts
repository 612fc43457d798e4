import { createHash } from "node:crypto";
import type { IdempotencyClaim, IdempotencyStore } from "../../idempotency/idempotency_store.ts";
import { KvIdempotency } from "../../idempotency/kv_idempotency.ts";
import type { KeyValue } from "../../kv/key_value.ts";
import { bytesToHex } from "../../protocol/byte_text.ts";
import type { Clock, Random } from "../../runtime/runtime.ts";

/** Ensures that one process at a time handles an event. The claim of a crashed process expires. */
export function createDeliveryClaims(store: KeyValue, clock: Clock): IdempotencyStore {
  return new KvIdempotency({ store, clock, ttlMs: keepMs, leaseMs: 60_000 });
}

export function deliveryClaim(provider: string, id: string, random: Random): IdempotencyClaim {
  const name = JSON.stringify(["delivery", provider, id]);
  return {
    id: createHash("sha256").update(name).digest("base64url"),
    fingerprint: "",
    owner: bytesToHex(random.bytes(16)),
  };
}

/** Stripe can resend an event for 30 days, so claims are kept longer. */
const keepMs = 35 * 86_400_000;

export const handledDelivery = {
  answer: { status: 200, headers: {}, body: null },
  keepMs,
} as const;

import type { KeyValue, KeyValueCommit } from "../../kv/key_value.ts";
import { bytesToHex } from "../../protocol/byte_text.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { billingKeys } from "./billing_keys.ts";

/** A process's claim on a webhook delivery while it handles the event. */
export interface DeliveryClaim {
  readonly id: string;
  readonly owner: string;
}

/** A claim, `done` if the event was handled before, or `in-flight` if it is handled at present. */
export type ClaimOutcome = DeliveryClaim | "done" | "in-flight";

interface DeliveryRecord {
  readonly owner: string;
  /** End of the claim in milliseconds since 1970, or null once the event was handled. */
  readonly leaseUntil: number | null;
}

/**
 * Claims of webhook deliveries. Only one process at a time handles an event, and none does after a
 * success. The claim of a process that died expires after a minute.
 */
export class DeliveryClaims {
  readonly #provider: string;
  readonly #store: KeyValue;
  readonly #runtime: Pick<Runtime, "clock" | "random">;

  /** Creates the object without calling the store. */
  constructor(provider: string, store: KeyValue, runtime: Pick<Runtime, "clock" | "random">) {
    this.#provider = provider;
    this.#store = store;
    this.#runtime = runtime;
  }

  /** Claims a delivery. Rejects with a `StoreError` if the store does not respond. */
  async claim(id: string): Promise<ClaimOutcome> {
    const claim = { id, owner: bytesToHex(this.#runtime.random.bytes(16)) };
    for (let versionstamp: string | null = null;;) {
      const leaseUntil = this.#runtime.clock.now() + leaseMs;
      const commit = this.#setting(claim, { owner: claim.owner, leaseUntil }, versionstamp);
      if ((await this.#store.commit({ ...commit, isProvisional: true })).ok) return claim;
      const found = await this.#store.get(billingKeys.delivery(this.#provider, id));
      const record = asRecord(found.value);
      if (record !== null && record.leaseUntil === null) return "done";
      const isHeld = record !== null && Number(record.leaseUntil) > this.#runtime.clock.now();
      if (isHeld) return "in-flight";
      versionstamp = found.versionstamp;
    }
  }

  /** Records that the event was handled, for longer than the provider repeats deliveries. */
  async finish(claim: DeliveryClaim): Promise<void> {
    await this.#whileHeld(
      claim,
      (versionstamp) =>
        this.#setting(claim, { owner: claim.owner, leaseUntil: null }, versionstamp),
    );
  }

  /** Releases the claim, so that a repetition can be handled. */
  async release(claim: DeliveryClaim): Promise<void> {
    const key = billingKeys.delivery(this.#provider, claim.id);
    await this.#whileHeld(claim, (versionstamp) => ({
      checks: [{ key, versionstamp }],
      mutations: [{ kind: "delete", key }],
    }));
  }

  async #whileHeld(
    { id, owner }: DeliveryClaim,
    change: (versionstamp: string | null) => KeyValueCommit,
  ): Promise<void> {
    for (;;) {
      const found = await this.#store.get(billingKeys.delivery(this.#provider, id));
      const record = asRecord(found.value);
      // The lease ended and another process took over, or an earlier attempt has succeeded.
      if (record === null || record.owner !== owner || record.leaseUntil === null) return;
      if ((await this.#store.commit(change(found.versionstamp))).ok) return;
    }
  }

  #setting(
    { id }: DeliveryClaim,
    value: DeliveryRecord,
    versionstamp: string | null,
  ): KeyValueCommit {
    const key = billingKeys.delivery(this.#provider, id);
    return {
      checks: [{ key, versionstamp }],
      mutations: [{ kind: "set", key, value, expireInMs: keepMs }],
      claim: key,
    };
  }
}

/** How long a process may take to handle one event, in milliseconds. */
const leaseMs = 60_000;

/** Stripe lets you resend an event for 30 days, so records are kept longer. */
const keepMs = 35 * 86_400_000;

function asRecord(value: unknown): DeliveryRecord | null {
  // The cast is safe, because no other code writes these keys.
  return value === undefined ? null : value as DeliveryRecord;
}

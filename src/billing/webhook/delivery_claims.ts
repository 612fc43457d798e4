import type { KeyValue, KeyValueCommit } from "../../kv/key_value.ts";
import { bytesToHex } from "../../protocol/byte_text.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { billingKeys } from "./billing_keys.ts";

/** The claim of a delivery by the process that handles it. */
export interface DeliveryClaim {
  readonly id: string;
  readonly owner: string;
}

/**
 * A claim, or the reason why there is none: the event was handled, or another process handles it.
 */
export type ClaimOutcome = DeliveryClaim | "done" | "in-flight";

interface DeliveryRecord {
  readonly owner: string;
  /** Milliseconds since 1970; null once the event was handled. */
  readonly leaseUntil: number | null;
}

/**
 * The claims of deliveries. For one event, in any number of processes, only one delivery is handled
 * at a time. After one was handled, no further delivery is. The claim of a terminated process
 * expires after a minute.
 */
export class DeliveryClaims {
  readonly #provider: string;
  readonly #store: KeyValue;
  readonly #runtime: Pick<Runtime, "clock" | "random">;

  /** Makes no call yet. */
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

  /** Records that the event was handled. The record outlives the repetitions of the provider. */
  async finish(claim: DeliveryClaim): Promise<void> {
    await this.#whileHeld(
      claim,
      (versionstamp) =>
        this.#setting(claim, { owner: claim.owner, leaseUntil: null }, versionstamp),
    );
  }

  /** Releases the claim, so that the next repetition of the delivery can be handled. */
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
      // Another process has taken over after the lease, or this call is a repetition.
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

/** Maximum time of a process for one event, in milliseconds. */
const leaseMs = 60_000;

/** Stripe allows a manual repetition of an event for 30 days. */
const keepMs = 35 * 86_400_000;

function asRecord(value: unknown): DeliveryRecord | null {
  // No other code writes these keys.
  return value === undefined ? null : value as DeliveryRecord;
}

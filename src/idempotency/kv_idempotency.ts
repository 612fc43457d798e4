import {
  type FoundKeyRecord,
  type IdempotencyClaim,
  idempotencyLeaseMs,
  type IdempotencyStore,
  type KeyClaimResult,
  type StoredAnswer,
  type StoredResponse,
} from "./idempotency_store.ts";
import { boundedMap } from "../runtime/bounded_map.ts";
import type { KeyValue, KeyValueCommit, KeyValueKey } from "../kv/key_value.ts";
import type { Clock } from "../runtime/runtime.ts";

export interface KvIdempotencyOptions {
  readonly store: KeyValue;
  readonly ttlMs: number;
  readonly clock: Clock;
  readonly leaseMs?: number;
}

/** If the process ends after a write, before storing its response, a retry writes again. */
export class KvIdempotency implements IdempotencyStore {
  readonly #options: KvIdempotencyOptions;
  /** Owners of released claims. These are never renewed, even if the store still has them. */
  readonly #releasedOwners = boundedMap<string, true>(10_000);

  constructor(options: KvIdempotencyOptions) {
    this.#options = options;
  }

  async claim(claim: IdempotencyClaim): Promise<KeyClaimResult> {
    const { store } = this.#options;
    const key = keyOf(claim);
    // Most keys are new, so the first commit assumes, without a read, that the key does not exist.
    for (let versionstamp: string | null = null;;) {
      const commit = this.#setting(key, claim, versionstamp);
      // If this commit fails, the claim has no effect: the client can safely repeat the request.
      if ((await store.commit({ ...commit, isProvisional: true })).ok) return { kind: "claimed" };
      const entry = await store.get(key);
      versionstamp = entry.versionstamp;
      const found = await this.#foundIn(entry.value, claim);
      if (found !== null) return found;
    }
  }

  async find(claim: IdempotencyClaim): Promise<FoundKeyRecord | null> {
    return await this.#foundIn((await this.#options.store.get(keyOf(claim))).value, claim);
  }

  async renew(claim: IdempotencyClaim): Promise<void> {
    await this.#whileClaimed(
      claim,
      async (key, versionstamp) =>
        (await this.#options.store.commit(this.#setting(key, claim, versionstamp))).ok,
    );
  }

  async finish(claim: IdempotencyClaim, { answer: given, keepMs }: StoredResponse): Promise<void> {
    const { store } = this.#options;
    const { share } = claim;
    const [first, ...parts] = split(given);
    for (const [index, value] of parts.entries()) {
      const key = partKey(claim, index);
      // The parts of a response expire after its record, so that no record lacks its parts.
      const expireInMs = keepMs + partMarginMs;
      await store.commit({ mutations: [{ kind: "set", key, value, expireInMs, share }] });
    }
    const answer = { first, parts: parts.length };
    await this.#whileClaimed(
      claim,
      async (key, versionstamp) =>
        (await store.commit(this.#setting(key, claim, versionstamp, { answer, keepMs }))).ok,
    );
  }

  async release(claim: IdempotencyClaim): Promise<void> {
    // Records the release in memory first, so that the claim is not renewed if the store fails.
    this.#releasedOwners.set(claim.owner, true);
    await this.#whileClaimed(claim, async (key, versionstamp) => {
      const checks = [{ key, versionstamp }];
      const mutations = [{ kind: "delete", key }] as const;
      return (await this.#options.store.commit({ checks, mutations })).ok;
    });
  }

  async #foundIn(value: unknown, claim: IdempotencyClaim): Promise<FoundKeyRecord | null> {
    const record = asRecord(value);
    if (record === null) return null;
    const { fingerprint, owner, answer, leaseUntilMs } = record;
    if (answer !== null) {
      const stored = await this.#readAnswer({ ...claim, owner }, answer);
      return { kind: "finished", fingerprint, answer: stored };
    }
    const isHeld = leaseUntilMs > this.#options.clock.now() &&
      this.#releasedOwners.get(owner) !== true;
    return isHeld ? { kind: "in-flight", fingerprint } : null;
  }

  #setting(
    key: KeyValueKey,
    { owner, fingerprint, share }: IdempotencyClaim,
    versionstamp: string | null,
    finished?: { readonly answer: AnswerHead; readonly keepMs: number },
  ): KeyValueCommit {
    const { ttlMs, clock, leaseMs = idempotencyLeaseMs } = this.#options;
    const leaseUntilMs = clock.now() + leaseMs;
    const value: KeyRecord = { owner, fingerprint, leaseUntilMs, answer: finished?.answer ?? null };
    // A claim lasts until its lease ends, even if responses are kept for a shorter time.
    const expireInMs = finished?.keepMs ?? Math.max(ttlMs, leaseMs);
    return {
      checks: [{ key, versionstamp }],
      mutations: [{ kind: "set", key, value, expireInMs, share }],
      claim: key,
    };
  }

  async #whileClaimed(
    claim: IdempotencyClaim,
    change: (key: KeyValueKey, versionstamp: string | null) => Promise<boolean>,
  ): Promise<void> {
    const key = keyOf(claim);
    for (;;) {
      const { value, versionstamp } = await this.#options.store.get(key);
      const record = asRecord(value);
      if (record === null || record.owner !== claim.owner || record.answer !== null) return;
      if (await change(key, versionstamp)) return;
    }
  }

  async #readAnswer(
    owner: IdempotencyClaim,
    { first, parts }: AnswerHead,
  ): Promise<StoredAnswer | null> {
    const keys = Array.from({ length: parts }, (_, index) => partKey(owner, index));
    const rest = keys.length === 0 ? [] : await this.#options.store.getMany(keys);
    const bytes = rest.flatMap(({ value }) => value instanceof Uint8Array ? [value] : []);
    // A store of limited size may have deleted the oldest parts.
    return bytes.length < parts ? null : joined([first, ...bytes]);
  }
}

interface KeyRecord {
  readonly owner: string;
  readonly fingerprint: string;
  readonly leaseUntilMs: number;
  readonly answer: AnswerHead | null;
}

/** The beginning of a stored response. The rest of a long response is in other records. */
interface AnswerHead {
  readonly first: Uint8Array;
  readonly parts: number;
}

/** Size of a part in bytes. A record can have 65,000 bytes, but it also has other members. */
const partBytes = 48_000;

const partMarginMs = 60_000;

function keyOf({ id }: IdempotencyClaim): KeyValueKey {
  return ["idempotency", id];
}

function partKey({ id, owner }: IdempotencyClaim, index: number): KeyValueKey {
  return ["idempotency", id, owner, index];
}

function asRecord(value: unknown): KeyRecord | null {
  // The cast is safe, because no other code writes below this prefix.
  return value === undefined ? null : value as KeyRecord;
}

/** Splits a response into parts. The headers are included, because a `Location` can be long. */
function split(answer: StoredAnswer): readonly [Uint8Array, ...Uint8Array[]] {
  const bytes = new TextEncoder().encode(JSON.stringify(answer));
  const count = Math.ceil(bytes.length / partBytes);
  const part = (index: number) => bytes.slice(index * partBytes, (index + 1) * partBytes);
  return [part(0), ...Array.from({ length: count - 1 }, (_, index) => part(index + 1))];
}

function joined(parts: readonly Uint8Array[]): StoredAnswer {
  const decoder = new TextDecoder();
  let text = "";
  for (const part of parts) text += decoder.decode(part, { stream: true });
  // The cast is safe, because no other code writes below this prefix.
  return JSON.parse(text + decoder.decode()) as StoredAnswer;
}

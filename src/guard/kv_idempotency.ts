import {
  type ClaimResult,
  type IdempotencyClaim,
  idempotencyLeaseMs,
  type IdempotencyStore,
  type StoredAnswer,
} from "../runtime/idempotency_store.ts";
import type { Key, KeyValue } from "../runtime/key_value.ts";
import type { Clock } from "../runtime/runtime.ts";
import { StoreError } from "../runtime/store_error.ts";

/** What {@link createKvIdempotency} works with. */
export interface KvIdempotencyParts {
  readonly store: KeyValue;
  readonly ttlMs: number;
  readonly clock: Clock;
}

/**
 * Keeps answers in the key-value store. The answer is stored after the write: a process that dies
 * in between leaves a key under which the request is executed again once the claim has run out.
 */
export function createKvIdempotency(parts: KvIdempotencyParts): IdempotencyStore {
  const { store, ttlMs, clock } = parts;

  async function claim(claim: IdempotencyClaim): Promise<ClaimResult> {
    const key = keyOf(claim);
    // Most keys are new: one commit, and nobody has to be looked at.
    for (let versionstamp: string | null = null;;) {
      const record = { ...heldBy(claim), answer: null };
      if (await put(key, record, versionstamp)) return { kind: "claimed" };
      const entry = await store.get(key);
      versionstamp = entry.versionstamp;
      const found = readRecord(entry.value);
      if (found === null) continue;
      const { fingerprint, answer } = found;
      if (answer !== null) {
        return { kind: "finished", fingerprint, answer: await readAnswer(found.owner, answer) };
      }
      if (found.leaseUntilMs > clock.now()) return { kind: "in-flight", fingerprint };
    }

    async function readAnswer(owner: string, answer: AnswerHead): Promise<StoredAnswer> {
      const { status, headers, first, parts } = answer;
      const keys = Array.from({ length: parts }, (_, index) => partKey({ ...claim, owner }, index));
      const rest = keys.length === 0 ? [] : await store.getMany(keys);
      const bytes = [first, ...rest.map(({ value }) => readPart(value))];
      return { status, headers, body: first === null ? null : joined(bytes) };
    }
  }

  function heldBy({ owner, fingerprint }: IdempotencyClaim) {
    return { owner, fingerprint, leaseUntilMs: clock.now() + idempotencyLeaseMs };
  }

  async function put(key: Key, value: KeyRecord, versionstamp: string | null): Promise<boolean> {
    const { ok } = await store.commit({
      checks: [{ key, versionstamp }],
      mutations: [{ kind: "set", key, value, expireInMs: ttlMs }],
      claim: key,
    });
    return ok;
  }

  /** Runs `change` as long as the claim holds the key and nobody has answered. */
  async function whileHeld(
    claim: IdempotencyClaim,
    change: (key: Key, versionstamp: string | null) => Promise<boolean>,
  ): Promise<void> {
    const key = keyOf(claim);
    for (;;) {
      const { value, versionstamp } = await store.get(key);
      const record = readRecord(value);
      if (record === null || record.owner !== claim.owner || record.answer !== null) return;
      if (await change(key, versionstamp)) return;
    }
  }

  return {
    claim,
    renew: (claim) =>
      whileHeld(
        claim,
        (key, versionstamp) => put(key, { ...heldBy(claim), answer: null }, versionstamp),
      ),
    async finish(claim, { status, headers, body }) {
      const [first = null, ...parts] = body === null ? [] : split(body);
      for (const [index, value] of parts.entries()) {
        const key = partKey(claim, index);
        // Longer than the record, so that whoever finds that one finds these.
        const expireInMs = ttlMs + partMarginMs;
        await store.commit({ mutations: [{ kind: "set", key, value, expireInMs }] });
      }
      const answer = { status, headers, first, parts: parts.length };
      await whileHeld(
        claim,
        (key, versionstamp) => put(key, { ...heldBy(claim), answer }, versionstamp),
      );
    },
    release: (claim) =>
      whileHeld(claim, async (key, versionstamp) => {
        const mutations = [{ kind: "delete", key }] as const;
        return (await store.commit({ checks: [{ key, versionstamp }], mutations })).ok;
      }),
  };
}

/** What stands under a key. */
interface KeyRecord {
  readonly owner: string;
  readonly fingerprint: string;
  readonly leaseUntilMs: number;
  /** Null while somebody is at work. */
  readonly answer: AnswerHead | null;
}

/** An answer, but for what of its body is too long for one record. */
interface AnswerHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The beginning of the body, or all of it; null where there is none. */
  readonly first: Uint8Array | null;
  /** In how many records the rest stands. */
  readonly parts: number;
}

/** A record takes 65,000 bytes, and the head has headers beside its part. */
const partBytes = 48_000;

const partMarginMs = 60_000;

function keyOf({ id }: IdempotencyClaim): Key {
  return ["idempotency", id];
}

/** With the owner, so that two who both believe to hold the key cannot mix their answers. */
function partKey({ id, owner }: IdempotencyClaim, index: number): Key {
  return ["idempotency", id, owner, index];
}

function readRecord(value: unknown): KeyRecord | null {
  // Nobody else writes below this prefix.
  return value === undefined ? null : value as KeyRecord;
}

function readPart(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  throw new StoreError("unavailable", new Error("A part of a stored answer is missing"));
}

/** At least one part, be it empty. */
function split(body: string): readonly Uint8Array[] {
  const bytes = new TextEncoder().encode(body);
  const count = Math.max(1, Math.ceil(bytes.length / partBytes));
  return Array.from(
    { length: count },
    (_, index) => bytes.slice(index * partBytes, (index + 1) * partBytes),
  );
}

function joined(parts: readonly (Uint8Array | null)[]): string {
  const decoder = new TextDecoder();
  let text = "";
  for (const part of parts) text += decoder.decode(part ?? new Uint8Array(), { stream: true });
  return text + decoder.decode();
}

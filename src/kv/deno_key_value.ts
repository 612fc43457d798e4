import { serializeValue, validateCommit, validatePage } from "./memory_key_value.ts";
import { type DenoKv, type DenoKvAtomic, encodeRecord, type KvRecord } from "./deno_kv.ts";
import type { KeyValue, KeyValueCheck, KeyValueCommit, KeyValueCommitResult } from "./key_value.ts";
import { RetryingKv, type RetryingKvOptions } from "./retrying_kv.ts";
import { bytesToBase64 } from "../protocol/byte_text.ts";
import { encodeKey } from "./key_encoding.ts";
import type { Deadline, Runtime } from "../runtime/runtime.ts";
import { StoreError } from "./store_error.ts";

interface PreparedCommit {
  readonly commit: KeyValueCommit;
  /** The encoded key of the record that proves the commit; null if there is no such record. */
  readonly claimCode: string | null;
  readonly claimId: string | null;
  readonly now: number;
}

/** Commits to a Deno KV. If the acknowledgement is lost, finds out if the commit happened. */
export async function commitToDenoKv(
  kv: RetryingKv,
  commit: KeyValueCommit,
  { clock, random }: Pick<Runtime, "clock" | "random">,
): Promise<KeyValueCommitResult> {
  validateCommit(commit);
  for (const mutation of commit.mutations) {
    if (mutation.kind === "set") serializeValue(mutation.key, mutation.value);
  }
  const { claim, checks = [] } = commit;
  const prepared: PreparedCommit = {
    commit,
    claimCode: claim === undefined ? null : encodeKey(claim),
    claimId: claim === undefined ? null : bytesToBase64(random.bytes(12)),
    now: clock.now(),
  };
  const limit = kv.startDeadline();
  for (let current = checks;;) {
    const result = await attempt(kv, prepared, current, limit);
    if (result.ok) return result;
    const rechecked = await recheck(kv, prepared, limit).catch((error) => {
      abandonClaim(kv, prepared, Promise.resolve());
      throw error;
    });
    if (rechecked.done !== null) return rechecked.done;
    const isSame = rechecked.checks.every(({ versionstamp }, index) =>
      versionstamp === current[index]?.versionstamp
    );
    const isConflict = !rechecked.isFree && isSame;
    if (limit.leftMs() === 0 || isConflict) return result;
    current = rechecked.checks;
  }
}

async function attempt(
  kv: RetryingKv,
  prepared: PreparedCommit,
  checks: readonly KeyValueCheck[],
  limit: Deadline,
): Promise<KeyValueCommitResult> {
  let sent: Promise<unknown> = Promise.resolve();
  try {
    return await kv.run((kv) => {
      const committing = atomic(kv, prepared, checks).commit();
      sent = committing;
      return committing;
    }, limit);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const done = await findProof(kv, prepared);
    if (done !== null) return done;
    abandonClaim(kv, prepared, sent);
    throw new StoreError("unknown-outcome", error);
  }
}

function abandonClaim(kv: RetryingKv, prepared: PreparedCommit, sent: Promise<unknown>): void {
  const { commit: { claim, isProvisional = false }, claimId } = prepared;
  if (claim === undefined || claimId === null || !isProvisional) return;
  kv.abandonedClaims.add(claimId, sent, async () => {
    const limit = kv.cleanupDeadline();
    const found = await kv.readOne(claim, limit);
    const { versionstamp } = found.entry;
    if (found.claimId !== claimId || versionstamp === null) return;
    // The check protects the record of a later request that may have claimed the key.
    await kv.run(
      (kv) => kv.atomic().check({ key: claim, versionstamp }).delete(claim).commit(),
      limit,
    );
  });
}

function atomic(
  kv: DenoKv,
  prepared: PreparedCommit,
  checks: readonly KeyValueCheck[],
): DenoKvAtomic {
  const operation = kv.atomic().check(...checks);
  for (const mutation of prepared.commit.mutations) {
    const { key } = mutation;
    if (mutation.kind === "delete") {
      operation.delete(key);
      continue;
    }
    const isClaim = prepared.claimCode !== null && encodeKey(key) === prepared.claimCode;
    const record = encodeRecord(mutation, prepared.now, isClaim ? prepared.claimId : null);
    const { expireInMs } = mutation;
    if (expireInMs === undefined) operation.set(key, record);
    else operation.set(key, record, { expireIn: expireInMs });
  }
  return operation;
}

async function findProof(
  kv: RetryingKv,
  prepared: PreparedCommit,
): Promise<KeyValueCommitResult | null> {
  const { claim } = prepared.commit;
  if (claim === undefined) return null;
  try {
    return resultOf(await kv.readOne(claim, kv.startDeadline(proofMs)), prepared);
  } catch (error) {
    // The store still does not respond, so the outcome is unknown.
    if (error instanceof StoreError) return null;
    throw error;
  }
}

const proofMs = 500;

function resultOf(
  { entry, claimId }: KvRecord,
  prepared: PreparedCommit,
): KeyValueCommitResult | null {
  const { versionstamp } = entry;
  return versionstamp !== null && claimId === prepared.claimId ? { ok: true, versionstamp } : null;
}

/** Reads the checked keys again. An expired record, or a record of this commit, is no conflict. */
async function recheck(kv: RetryingKv, prepared: PreparedCommit, limit: Deadline) {
  const { checks = [], claim } = prepared.commit;
  const absent = checks.filter(({ versionstamp }) => versionstamp === null);
  const keys = absent.map(({ key }) => key);
  const records = await kv.readAll(claim === undefined ? keys : [...keys, claim], limit);
  const own = claim === undefined ? undefined : records.at(-1);
  const expired = new Map(
    records.filter(({ entry }) => entry.value === undefined)
      .map(({ entry }) => [encodeKey(entry.key), entry.versionstamp]),
  );
  return {
    done: own === undefined ? null : resultOf(own, prepared),
    isFree: absent.length === checks.length &&
      records.every(({ entry }) => entry.versionstamp === null),
    checks: checks.map(({ key, versionstamp }) => ({
      key,
      versionstamp: versionstamp ?? expired.get(encodeKey(key)) ?? null,
    })),
  };
}

/**
 * Creates a {@link KeyValue} from a Deno KV, with guarantees that Deno KV lacks: operations have
 * timeouts, are repeated if another process has locked the file, and never return expired records.
 * If the acknowledgement of a commit is lost, the store is read to find out if the commit happened.
 * `release` is called when the store is closed.
 */
export function createDenoKeyValue(
  kv: DenoKv,
  options: RetryingKvOptions,
  release?: () => void,
): KeyValue {
  const retrying = new RetryingKv(kv, options);
  return {
    async get(key) {
      return (await retrying.readOne(key, retrying.startDeadline())).entry;
    },
    async getMany(keys) {
      return (await retrying.readAll(keys, retrying.startDeadline())).map(({ entry }) => entry);
    },
    async list(page) {
      validatePage(page);
      return await retrying.list(page, retrying.startDeadline());
    },
    commit: (commit) => commitToDenoKv(retrying, commit, options),
    close() {
      retrying.close();
      release?.();
      return Promise.resolve();
    },
  };
}

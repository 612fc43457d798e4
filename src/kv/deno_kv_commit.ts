import { serializeValue, validateCommit } from "./validate_commit.ts";
import type { Deadline } from "../runtime/deadline.ts";
import type { DenoKv, DenoKvAtomic } from "./deno_kv.ts";
import { encodeKey } from "./key_encoding.ts";
import type { KeyValueCheck, KeyValueCommit, KeyValueCommitResult } from "./key_value.ts";
import { encodeRecord, type KvRecord } from "./deno_kv_record.ts";
import type { RetryingKv } from "./retrying_kv.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { StoreError } from "./store_error.ts";

/** A commit, and what is decided once for all its tries. */
interface Unit {
  readonly commit: KeyValueCommit;
  /** The code of the key whose record proves that the commit was done. */
  readonly claimCode: string | null;
  /** What stands in that record. */
  readonly claimId: string | null;
  readonly now: number;
}

/** Does a commit in a Deno KV, and finds out what became of it. */
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
  const unit: Unit = {
    commit,
    claimCode: claim === undefined ? null : encodeKey(claim),
    claimId: claim === undefined ? null : random.bytes(12).toBase64(),
    now: clock.now(),
  };
  const limit = kv.startDeadline();
  for (let asked = checks;;) {
    const result = await attempt(kv, unit, asked, limit);
    if (result.ok) return result;
    const second = await secondLook(kv, unit, limit);
    if (second.done !== null) return second.done;
    const isConflict = !second.isFree && sameStates(second.checks, asked);
    if (limit.leftMs() === 0 || isConflict) return result;
    asked = second.checks;
  }
}

async function attempt(
  kv: RetryingKv,
  unit: Unit,
  checks: readonly KeyValueCheck[],
  limit: Deadline,
): Promise<KeyValueCommitResult> {
  let sent: Promise<unknown> = Promise.resolve();
  try {
    return await kv.run((kv) => {
      const committing = atomic(kv, unit, checks).commit();
      sent = committing;
      return committing;
    }, limit);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const done = await proof(kv, unit);
    if (done !== null) return done;
    giveUp(kv, unit, sent);
    throw new StoreError("unknown-outcome", error);
  }
}

/** What a commit leaves that nobody uses counts for nothing, and goes once it is settled. */
function giveUp(kv: RetryingKv, unit: Unit, sent: Promise<unknown>): void {
  const { commit: { claim, isProvisional = false }, claimId } = unit;
  if (claim === undefined || claimId === null || !isProvisional) return;
  kv.abandonedClaims.add(claimId, sent, async () => {
    const limit = kv.cleanupDeadline();
    const found = await kv.readOne(claim, limit);
    const { versionstamp } = found.entry;
    if (found.claimId !== claimId || versionstamp === null) return;
    // Whoever has taken the key over meanwhile has made another record of it.
    await kv.run(
      (kv) => kv.atomic().check({ key: claim, versionstamp }).delete(claim).commit(),
      limit,
    );
  });
}

function atomic(kv: DenoKv, unit: Unit, checks: readonly KeyValueCheck[]): DenoKvAtomic {
  const operation = kv.atomic().check(...checks);
  for (const mutation of unit.commit.mutations) {
    const { key } = mutation;
    if (mutation.kind === "delete") {
      operation.delete(key);
      continue;
    }
    const isClaim = unit.claimCode !== null && encodeKey(key) === unit.claimCode;
    const record = encodeRecord(mutation, unit.now, isClaim ? unit.claimId : null);
    const { expireInMs } = mutation;
    if (expireInMs === undefined) operation.set(key, record);
    else operation.set(key, record, { expireIn: expireInMs });
  }
  return operation;
}

/** Null unless the commit's own record is there after all. */
async function proof(kv: RetryingKv, unit: Unit): Promise<KeyValueCommitResult | null> {
  const { claim } = unit.commit;
  if (claim === undefined) return null;
  try {
    return doneBy(await kv.readOne(claim, kv.startDeadline(proofMs)), unit);
  } catch (error) {
    // The store still does not answer: the outcome stays unknown, and the caller says so.
    if (error instanceof StoreError) return null;
    throw error;
  }
}

/** How long to look for the proof of a commit that was not acknowledged. */
const proofMs = 500;

function doneBy({ entry, claimId }: KvRecord, unit: Unit): KeyValueCommitResult | null {
  const { versionstamp } = entry;
  return versionstamp !== null && claimId === unit.claimId ? { ok: true, versionstamp } : null;
}

/** Where it fails, nobody knows whether the check met the commit itself. */
async function secondLook(kv: RetryingKv, unit: Unit, limit: Deadline): Promise<SecondLook> {
  try {
    return await lookAgain(kv, unit, limit);
  } catch (error) {
    giveUp(kv, unit, Promise.resolve());
    throw error;
  }
}

interface SecondLook {
  readonly done: KeyValueCommitResult | null;
  /** The checks once more, by the states that their keys are in now. */
  readonly checks: readonly KeyValueCheck[];
  /** Whether nothing stands in the way any more: what did was removed between try and look. */
  readonly isFree: boolean;
}

/**
 * A check failed. That is no conflict where it met the commit itself, done by a try whose
 * acknowledgement was lost, nor where it met a record whose time is over.
 */
async function lookAgain(kv: RetryingKv, unit: Unit, limit: Deadline): Promise<SecondLook> {
  const { checks = [], claim } = unit.commit;
  const absent = checks.filter(({ versionstamp }) => versionstamp === null);
  const keys = absent.map(({ key }) => key);
  const records = await kv.readAll(claim === undefined ? keys : [...keys, claim], limit);
  const own = claim === undefined ? undefined : records.at(-1);
  const expired = new Map(
    records.filter(({ entry }) => entry.value === undefined)
      .map(({ entry }) => [encodeKey(entry.key), entry.versionstamp]),
  );
  return {
    done: own === undefined ? null : doneBy(own, unit),
    isFree: absent.length === checks.length &&
      records.every(({ entry }) => entry.versionstamp === null),
    checks: checks.map(({ key, versionstamp }) => ({
      key,
      versionstamp: versionstamp ?? expired.get(encodeKey(key)) ?? null,
    })),
  };
}

function sameStates(left: readonly KeyValueCheck[], right: readonly KeyValueCheck[]): boolean {
  return left.every(({ versionstamp }, index) => versionstamp === right[index]?.versionstamp);
}

/** Identifies a document of a search index. */
export interface DocumentName {
  /** The name of the index. */
  readonly index: string;
  /** The id of the document: the row's key as in its URL. */
  readonly docId: string;
}

/** The outbox entry of one document to index again, with the row's id but no other values. */
export interface OutboxEntry extends DocumentName {
  /** Grows with each recorded write, each commit and each `enqueue`. Leases do not change it. */
  readonly revision: number;
  /** Writes of the row that were recorded before their commit. They may not be committed yet. */
  readonly intents: readonly OutboxIntent[];
  /** The revision of the last committed write or `enqueue`; null if all of these are indexed. */
  readonly readyRevision: number | null;
  /** Since when the index may differ from the row, in milliseconds since 1970. */
  readonly since: number;
  readonly attempts: number;
  /** Time before which no process takes the entry, in milliseconds since 1970. */
  readonly notBefore: number;
  readonly failure: string | null;
  readonly lease: OutboxLease | null;
  /** When the entry became dead (failed too often), in milliseconds since 1970; null if pending. */
  readonly deadSince: number | null;
  /** The operation of {@link SearchOutbox.enqueue}; null if the row determines the document. */
  readonly given: "document" | "delete" | null;
}

/** A write of a row, which the outbox records before the write commits. */
export interface OutboxIntent {
  readonly id: string;
  readonly at: number;
}

export interface OutboxLease {
  readonly owner: string;
  readonly until: number;
  readonly revision: number;
}

/** The list that contains an entry (due or dead), and the time by which the list is sorted. */
export type OutboxQueuePosition = ReturnType<typeof queuePositionOf>;

/** The time, in milliseconds, after which a write without a reported result counts as committed. */
export const intentTimeoutMs = 30_000;

/** Records a write before its commit. An entry that was no longer retried is retried again. */
export function addIntent(
  entry: OutboxEntry | null,
  name: DocumentName,
  intent: OutboxIntent,
): OutboxEntry {
  const before = entry ?? emptyEntry(name, intent.at);
  const others = before.intents.filter(({ id }) => id !== intent.id);
  return {
    ...(before.deadSince === null ? before : revive(before, intent.at)),
    revision: before.revision + 1,
    intents: [...others, intent],
  };
}

export function confirmIntent(
  entry: OutboxEntry | null,
  name: DocumentName,
  intent: OutboxIntent,
): OutboxEntry {
  const before = entry ?? emptyEntry(name, intent.at);
  return {
    ...addWork(before, intent.at),
    intents: before.intents.filter(({ id }) => id !== intent.id),
    given: null,
  };
}

export function removeWriteIntent(entry: OutboxEntry, { id }: OutboxIntent): OutboxEntry | null {
  const intents = entry.intents.filter((other) => other.id !== id);
  return withoutNothing({ ...entry, intents });
}

export function addEnqueuedChange(
  entry: OutboxEntry | null,
  name: DocumentName,
  given: OutboxEntry["given"],
  now: number,
): OutboxEntry {
  return { ...addWork(entry ?? emptyEntry(name, now), now), given };
}

export function revive(entry: OutboxEntry, now: number): OutboxEntry {
  return addWork(entry, now);
}

export function queuePositionOf(entry: OutboxEntry) {
  const { lease, readyRevision, notBefore, deadSince, intents } = entry;
  if (deadSince !== null) return { kind: "dead", at: deadSince };
  if (lease !== null) return { kind: "due", at: lease.until };
  if (readyRevision !== null) return { kind: "due", at: notBefore };
  return { kind: "due", at: Math.min(...intents.map(({ at }) => at)) + intentTimeoutMs };
}

/** Leases a due entry, and counts its old unconfirmed writes as committed. Null if not due. */
export function leaseEntry(
  entry: OutboxEntry,
  { owner, until }: Pick<OutboxLease, "owner" | "until">,
  now: number,
): OutboxEntry | null {
  const { kind, at } = queuePositionOf(entry);
  // A store can execute a change twice, so this process may already have the lease.
  if (entry.lease?.owner === owner && now < at) return entry;
  if (kind === "dead" || at > now) return null;
  const intents = entry.intents.filter(({ at }) => at + intentTimeoutMs > now);
  // The row may have been written after `enqueue`, so the document of `enqueue` is outdated.
  const isWritten = intents.length < entry.intents.length;
  return {
    ...(isWritten ? { ...entry, attempts: 0, given: null } : entry),
    intents,
    readyRevision: entry.readyRevision ?? entry.revision,
    lease: { owner, until, revision: entry.revision },
  };
}

/** Ends this process's lease of an entry after the write. Returns null if no work is left. */
export function finishEntry(entry: OutboxEntry, owner: string, now: number): OutboxEntry | null {
  const { lease, readyRevision } = entry;
  if (lease?.owner !== owner) return entry;
  const isDone = readyRevision !== null && readyRevision <= lease.revision;
  return withoutNothing({
    ...entry,
    ...{ lease: null, attempts: 0, failure: null, since: now },
    readyRevision: isDone ? null : readyRevision,
    given: isDone ? null : entry.given,
  });
}

/** Ends a lease after a failure. After the last one, an entry without open writes is dead. */
export function failEntry(
  entry: OutboxEntry,
  owner: string,
  { now, reason, schedule }: OutboxFailure,
): OutboxEntry {
  if (entry.lease?.owner !== owner) return entry;
  const attempts = entry.attempts + 1;
  const isLast = attempts >= schedule.maxAttempts && entry.intents.length === 0;
  return {
    ...entry,
    attempts,
    lease: null,
    failure: reason,
    notBefore: now + retryDelayMs(attempts, schedule),
    deadSince: isLast ? now : null,
  };
}

export interface OutboxFailure {
  readonly now: number;
  readonly reason: string;
  readonly schedule: RetrySchedule;
}

/** Ends the lease because the rows could not be read. This does not count as an attempt. */
export function postponeEntry(
  entry: OutboxEntry,
  owner: string,
  { now, reason, schedule }: OutboxFailure,
): OutboxEntry {
  if (entry.lease?.owner !== owner) return entry;
  const notBefore = now + retryDelayMs(entry.attempts + 1, schedule);
  return { ...entry, lease: null, failure: reason, notBefore };
}

export function releaseEntry(entry: OutboxEntry, owner: string): OutboxEntry {
  return entry.lease?.owner === owner ? { ...entry, lease: null } : entry;
}

export interface RetrySchedule {
  /** Base of the delays in milliseconds: base × 2^n after the n-th attempt. */
  readonly backoffBaseMs: number;
  readonly maxAttempts: number;
}

export function retryDelayMs(attempts: number, { backoffBaseMs }: RetrySchedule): number {
  return Math.min(maxDelayMs, backoffBaseMs * 2 ** attempts);
}

const maxDelayMs = 300_000;

function emptyEntry({ index, docId }: DocumentName, since: number): OutboxEntry {
  return {
    ...{ index, docId, since, revision: 0, intents: [], readyRevision: null, attempts: 0 },
    ...{ notBefore: since, failure: null, lease: null, deadSince: null, given: null },
  };
}

function addWork(entry: OutboxEntry, now: number): OutboxEntry {
  const revision = entry.revision + 1;
  return {
    ...{ ...entry, revision, readyRevision: revision },
    ...{ attempts: 0, notBefore: now, deadSince: null },
  };
}

function withoutNothing(entry: OutboxEntry): OutboxEntry | null {
  const { intents, readyRevision, lease, deadSince } = entry;
  const isEmpty = intents.length === 0 && readyRevision === null && lease === null;
  return isEmpty && deadSince === null ? null : entry;
}

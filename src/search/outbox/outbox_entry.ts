/** Identifies a document of a search index. */
export interface DocumentName {
  /** The name of the index. */
  readonly index: string;
  /** The id of the document, as in the last part of a row's URL. */
  readonly docId: string;
}

/**
 * The entry of the search outbox for one document. A drainer that takes the entry writes the
 * current row to the index. The entry contains only ids.
 */
export interface OutboxEntry extends DocumentName {
  /** Number of changes to the entry, except for changes by a drainer. */
  readonly revision: number;
  /** Unconfirmed writes of the row: recorded before their commit, and maybe still in progress. */
  readonly intents: readonly OutboxIntent[];
  /** The revision at which work was last added, or null if no write is known to be committed. */
  readonly readyRevision: number | null;
  /** The time since which the index may differ from the row, in milliseconds since 1970. */
  readonly since: number;
  /** The number of failed attempts. */
  readonly attempts: number;
  /** Time before which no drainer takes the entry, in milliseconds since 1970. */
  readonly notBefore: number;
  /** The reason of the last failure, or null if no attempt has failed. */
  readonly failure: string | null;
  readonly lease: OutboxLease | null;
  /** Time since which the entry is dead after too many failures, or null for a pending entry. */
  readonly deadSince: number | null;
  /** The change passed to {@link SearchOutbox.enqueue}, or null if drainers read the row. */
  readonly given: "document" | "delete" | null;
}

/** A write to a row that the outbox recorded before the commit of the write. */
export interface OutboxIntent {
  readonly id: string;
  readonly at: number;
}

/** The temporary right of one drainer to work on an entry. */
export interface OutboxLease {
  readonly owner: string;
  readonly until: number;
  /** The revision of the entry when it was taken. */
  readonly revision: number;
}

/** The list with an entry (due or dead entries), and the time by which the list is sorted. */
export interface OutboxQueuePosition {
  readonly kind: "due" | "dead";
  readonly at: number;
}

/** The age in milliseconds from which an unconfirmed write is treated as committed. */
export const intentTimeoutMs = 30_000;

/** Records a write to the row before its commit. A dead entry becomes pending again. */
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

/** Records that a write was committed, so that a drainer reads and indexes the row. */
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

/** Removes a write that was rolled back. Returns null if the entry has no more work. */
export function withdrawIntent(entry: OutboxEntry, { id }: OutboxIntent): OutboxEntry | null {
  const intents = entry.intents.filter((other) => other.id !== id);
  return withoutNothing({ ...entry, intents });
}

/** Adds a change that was passed to {@link SearchOutbox.enqueue}. */
export function addEnqueuedChange(
  entry: OutboxEntry | null,
  name: DocumentName,
  given: OutboxEntry["given"],
  now: number,
): OutboxEntry {
  return { ...addWork(entry ?? emptyEntry(name, now), now), given };
}

/** Makes a dead entry pending again, as if it had never failed. */
export function revive(entry: OutboxEntry, now: number): OutboxEntry {
  return addWork(entry, now);
}

/** Returns the list that contains an entry, and the time that sorts the list. */
export function queuePositionOf(entry: OutboxEntry): OutboxQueuePosition {
  const { lease, readyRevision, notBefore, deadSince, intents } = entry;
  if (deadSince !== null) return { kind: "dead", at: deadSince };
  if (lease !== null) return { kind: "due", at: lease.until };
  if (readyRevision !== null) return { kind: "due", at: notBefore };
  return { kind: "due", at: Math.min(...intents.map(({ at }) => at)) + intentTimeoutMs };
}

/** Takes the entry and its old unconfirmed writes for a drainer. Returns null if it is not due. */
export function takeEntry(
  entry: OutboxEntry,
  { owner, until }: Pick<OutboxLease, "owner" | "until">,
  now: number,
): OutboxEntry | null {
  const { kind, at } = queuePositionOf(entry);
  // The store may execute a change twice, so this drainer may already have taken the entry.
  if (entry.lease?.owner === owner && now < at) return entry;
  if (kind === "dead" || at > now) return null;
  const intents = entry.intents.filter(({ at }) => at + intentTimeoutMs > now);
  // The row may have been written after the call of `enqueue`.
  const isWritten = intents.length < entry.intents.length;
  return {
    ...(isWritten ? { ...entry, attempts: 0, given: null } : entry),
    intents,
    readyRevision: entry.readyRevision ?? entry.revision,
    lease: { owner, until, revision: entry.revision },
  };
}

/**
 * Ends the work of a drainer that has updated the document. Work that was added in between remains.
 * Returns null if no work remains. An entry that another drainer has taken is not changed.
 */
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

/**
 * Ends the work of a drainer that failed. The entry waits longer after each attempt, and is dead
 * after the last attempt, unless another write is in progress.
 */
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

/** Ends the work of a drainer that could not start. The attempt does not count as failed. */
export function postponeEntry(
  entry: OutboxEntry,
  owner: string,
  { now, reason, schedule }: OutboxFailure,
): OutboxEntry {
  if (entry.lease?.owner !== owner) return entry;
  const notBefore = now + retryDelayMs(entry.attempts + 1, schedule);
  return { ...entry, lease: null, failure: reason, notBefore };
}

/** Releases an entry that its drainer has not worked on. */
export function releaseEntry(entry: OutboxEntry, owner: string): OutboxEntry {
  return entry.lease?.owner === owner ? { ...entry, lease: null } : entry;
}

/** The delays of the retries of failed entries, and the maximum number of attempts. */
export interface RetrySchedule {
  /** Base of the delays, in milliseconds. The delay after the n-th attempt is the base × 2^n. */
  readonly backoffBaseMs: number;
  /** The number of attempts after which an entry is dead. */
  readonly maxAttempts: number;
}

/** Returns the delay after this number of failed attempts, in milliseconds. */
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

import { retryDelayMs, type RetrySchedule } from "./retry_schedule.ts";

/** Names a document of a search index. */
export interface DocumentName {
  /** The name of the index. */
  readonly index: string;
  /** As the last part of a row's URL. */
  readonly docId: string;
}

/**
 * The entry of the search outbox for one document: what is to be done is to make the index equal to
 * the row, whatever happened to the row. It holds ids only.
 */
export interface OutboxEntry extends DocumentName {
  /** Counts the changes that are not made by a drainer. */
  readonly revision: number;
  /** Writes of the row that have begun, and are neither known to be committed nor rolled back. */
  readonly intents: readonly OutboxIntent[];
  /** The revision at which work was last added; null if the entry holds intents only. */
  readonly readyRevision: number | null;
  /** Since when the index may differ from the row; milliseconds since 1970. */
  readonly since: number;
  /** How often the work has failed. */
  readonly attempts: number;
  /** No drainer takes the work before this. */
  readonly notBefore: number;
  /** Why the last attempt failed; null for none. */
  readonly failure: string | null;
  readonly lease: OutboxLease | null;
  /** Since when no drainer takes it, as it failed too often; null while one may. */
  readonly deadSince: number | null;
  /** What {@link SearchOutbox.enqueue} was given instead of a row; null if the row is read. */
  readonly given: "document" | "delete" | null;
}

/** The announcement of a write to a row. */
export interface OutboxIntent {
  readonly id: string;
  readonly at: number;
}

/** The right of one drainer to work on an entry, for some time. */
export interface OutboxLease {
  readonly owner: string;
  readonly until: number;
  /** The revision of the entry when it was taken. */
  readonly revision: number;
}

/** Where an entry waits: among those that are due at a time, or among the dead ones. */
export interface OutboxPlace {
  readonly kind: "due" | "dead";
  readonly at: number;
}

/** After this time a write that was announced counts as committed: its process may have ended. */
export const intentMs = 30_000;

/** Announces a write to the row, before its commit. A dead entry is pending again. */
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

/** The announced write is committed: the row is to be read, and the index made equal. */
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

/** The announced write was rolled back. Null if nothing is left to do. */
export function withdrawIntent(entry: OutboxEntry, { id }: OutboxIntent): OutboxEntry | null {
  const intents = entry.intents.filter((other) => other.id !== id);
  return withoutNothing({ ...entry, intents });
}

/** Adds work that no write of a row announced. */
export function addGiven(
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

/** Where the entry waits. */
export function placeOf(entry: OutboxEntry): OutboxPlace {
  const { lease, readyRevision, notBefore, deadSince, intents } = entry;
  if (deadSince !== null) return { kind: "dead", at: deadSince };
  if (lease !== null) return { kind: "due", at: lease.until };
  if (readyRevision !== null) return { kind: "due", at: notBefore };
  return { kind: "due", at: Math.min(...intents.map(({ at }) => at)) + intentMs };
}

/**
 * Takes the entry for a drainer; null if it is not due. Writes that were announced too long ago
 * become part of the work.
 */
export function takeEntry(
  entry: OutboxEntry,
  { owner, until }: Pick<OutboxLease, "owner" | "until">,
  now: number,
): OutboxEntry | null {
  const { kind, at } = placeOf(entry);
  // A store may carry the change out twice.
  if (entry.lease?.owner === owner && now < at) return entry;
  if (kind === "dead" || at > now) return null;
  const intents = entry.intents.filter(({ at }) => at + intentMs > now);
  // The row may have been written, and after what was given.
  const isWritten = intents.length < entry.intents.length;
  return {
    ...(isWritten ? { ...entry, attempts: 0, given: null } : entry),
    intents,
    readyRevision: entry.readyRevision ?? entry.revision,
    lease: { owner, until, revision: entry.revision },
  };
}

/**
 * Ends the work of a drainer that has made the index equal to the row. What came while it worked
 * stays; null if that is nothing. An entry that another drainer has taken is not changed.
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
 * Ends the work of a drainer that failed: the entry waits longer after each attempt, and is dead
 * after the last one, unless another write is under way.
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

/** How an attempt failed. */
export interface OutboxFailure {
  readonly now: number;
  readonly reason: string;
  readonly schedule: RetrySchedule;
}

/** Ends the work of a drainer that could not begin: the entry waits, and no attempt is counted. */
export function postponeEntry(
  entry: OutboxEntry,
  owner: string,
  { now, reason, schedule }: OutboxFailure,
): OutboxEntry {
  if (entry.lease?.owner !== owner) return entry;
  const notBefore = now + retryDelayMs(entry.attempts + 1, schedule);
  return { ...entry, lease: null, failure: reason, notBefore };
}

/** Returns an entry back that its drainer has not worked on. */
export function releaseEntry(entry: OutboxEntry, owner: string): OutboxEntry {
  return entry.lease?.owner === owner ? { ...entry, lease: null } : entry;
}

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

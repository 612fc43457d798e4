import { DatabaseError } from "../../db/database_error.ts";
import { StoreError } from "../../kv/store_error.ts";
import { chunksOf, type Key, parseKey } from "../../plan/key.ts";
import { bytesToHex } from "../../protocol/byte_text.ts";
import { deadline } from "../../runtime/deadline.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";
import type { IndexBackend, IndexChange } from "../search_adapter.ts";
import { readSearchedRows, type SearchIndex, textsOf } from "../search_index.ts";
import {
  failEntry,
  finishEntry,
  type OutboxEntry,
  postponeEntry,
  releaseEntry,
  takeEntry,
} from "./outbox_entry.ts";
import type { OutboxStore } from "./outbox_store.ts";
import type { RetrySchedule } from "./retry_schedule.ts";

/** An index that the outbox feeds. */
export interface OutboxIndex {
  readonly index: SearchIndex;
  readonly backend: IndexBackend;
}

/** What {@link drainEntries} works with. */
export interface DrainParts {
  readonly records: OutboxStore;
  /** By their names. */
  readonly indexes: ReadonlyMap<string, OutboxIndex>;
  readonly runtime: Pick<Runtime, "clock" | "random">;
}

/** How much is drained, and what happens to that which fails. */
export interface DrainLimits extends RetrySchedule {
  /** The most entries that are taken. */
  readonly batchSize: number;
}

/** What became of the entries that one drain has taken. */
export interface DrainResult {
  /** Their documents are as their rows. */
  readonly done: number;
  /** They are tried again, unless they are dead now. */
  readonly failed: number;
  readonly dead: number;
}

/**
 * Takes entries that are due, reads their rows, writes them to their indexes and removes the
 * entries. Rejects where the key-value store does not answer: then what was taken is due again once
 * its lease has ended.
 */
export async function drainEntries(parts: DrainParts, limits: DrainLimits): Promise<DrainResult> {
  const { records, indexes, runtime } = parts;
  const owner = bytesToHex(runtime.random.bytes(16));
  const taken = await takeDue(owner, parts, limits);
  if (taken.length === 0) return { done: 0, failed: 0, dead: 0 };
  // After the leases, before the rows are read: of two drainers, of which one has lost its lease,
  // the later version belongs to the later read, or to an entry that has changed since.
  const first = await records.reserveVersions(taken.length);
  const versioned = taken.map((entry, nth) => ({ entry, version: first + nth }));
  const groups = [...Map.groupBy(versioned, ({ entry }) => entry.index)];
  const outcomes = await Promise.all(groups.map(async ([name, some]) => {
    const found = indexes.get(name);
    if (found === undefined) return some.map(({ entry }) => failure(entry, `no index "${name}"`));
    return await writeGroup(some, found, parts);
  }));
  const ended = await Promise.all(
    outcomes.flat().map(async ({ entry, fault }) => {
      const left = await records.change(entry, (current) => {
        if (current === null) return null;
        return endWork(current, { owner, fault, now: runtime.clock.now(), schedule: limits });
      });
      return { fault, isDead: left !== null && left.deadSince !== null };
    }),
  );
  return {
    done: ended.filter(({ fault }) => fault === null).length,
    failed: ended.filter(({ fault }) => fault !== null).length,
    dead: ended.filter(({ isDead }) => isDead).length,
  };
}

/** How long a drainer may work on what it has taken. */
const leaseMs = 120_000;

/** How long one write to an index may take: it ends before its lease does. */
const writeMs = 30_000;

/** From the n-th attempt on a document is written alone: a single one may be at fault. */
const soloAttempts = 5;

/** So many documents are written alone at a time. */
const soloWrites = 10;

type Fault =
  /** The row could not be read, which says nothing about the document. */
  | { readonly kind: "unread"; readonly reason: string }
  | { readonly kind: "unwritten"; readonly reason: string }
  /** The lease was about to end. */
  | { readonly kind: "late" };

interface Outcome {
  readonly entry: OutboxEntry;
  /** Null where the document is written. */
  readonly fault: Fault | null;
}

/** The end of a drainer's work on an entry. */
interface WorkEnd {
  readonly owner: string;
  readonly fault: Fault | null;
  readonly now: number;
  readonly schedule: RetrySchedule;
}

function endWork(
  entry: OutboxEntry,
  { owner, fault, now, schedule }: WorkEnd,
): OutboxEntry | null {
  if (fault === null) return finishEntry(entry, owner, now);
  switch (fault.kind) {
    case "late":
      return releaseEntry(entry, owner);
    case "unread":
      return postponeEntry(entry, owner, { now, reason: fault.reason, schedule });
    case "unwritten":
      return failEntry(entry, owner, { now, reason: fault.reason, schedule });
  }
}

interface VersionedEntry {
  readonly entry: OutboxEntry;
  readonly version: number;
}

async function takeDue(
  owner: string,
  { records, runtime: { clock } }: DrainParts,
  { batchSize }: DrainLimits,
): Promise<readonly OutboxEntry[]> {
  const now = clock.now();
  const due = (await records.places("due", batchSize)).filter(({ at }) => at <= now);
  const lease = { owner, until: now + leaseMs };
  const entries = await Promise.all(
    due.map((name) =>
      records.change(
        name,
        (entry) => entry === null ? null : takeEntry(entry, lease, now) ?? entry,
      )
    ),
  );
  return entries.filter((entry) => entry?.lease?.owner === owner).filter((entry) => entry !== null);
}

async function writeGroup(
  some: readonly VersionedEntry[],
  target: OutboxIndex,
  parts: DrainParts,
): Promise<readonly Outcome[]> {
  const isSolo = ({ entry }: VersionedEntry) => entry.attempts >= soloAttempts;
  const together = some.filter((one) => !isSolo(one));
  const alone = some.filter(isSolo);
  const outcomes = [...await writeEntries(together, target, parts)];
  for (const next of chunksOf(alone, soloWrites)) {
    const each = await Promise.all(next.map((one) => writeEntries([one], target, parts)));
    outcomes.push(...each.flat());
  }
  return outcomes;
}

/** Reads and writes some entries, which fail together. */
async function writeEntries(
  some: readonly VersionedEntry[],
  target: OutboxIndex,
  { records, runtime: { clock } }: DrainParts,
): Promise<readonly Outcome[]> {
  if (some.length === 0) return [];
  const outcomeOf = (fault: Fault | null) => some.map(({ entry }) => ({ entry, fault }));
  let changes: readonly IndexChange[];
  try {
    changes = await readChanges(some, target, records);
  } catch (error) {
    const kind = isOutage(error) ? "unread" : "unwritten";
    return outcomeOf({ kind, reason: reasonOf(error) });
  }
  const until = Math.min(...some.map(({ entry }) => entry.lease?.until ?? 0));
  // Another drainer may have the entries soon.
  if (clock.now() + writeMs > until) return outcomeOf({ kind: "late" });
  const limit = deadline(writeMs, clock, () => new Error(`no answer within ${writeMs} ms`));
  try {
    await limit.within(target.backend.write(changes, { isAwaited: false }));
  } catch (error) {
    return outcomeOf({ kind: "unwritten", reason: reasonOf(error) });
  }
  return outcomeOf(null);
}

/** Whether the rows could not be read because of the database or the store, not of themselves. */
function isOutage(error: unknown): boolean {
  if (error instanceof StoreError) return true;
  return error instanceof DatabaseError &&
    ["unavailable", "timeout", "retryable", "overloaded"].includes(error.kind);
}

/** Reads the rows as they are now, or the documents that entries were given instead. */
async function readChanges(
  some: readonly VersionedEntry[],
  { index }: OutboxIndex,
  records: OutboxStore,
): Promise<readonly IndexChange[]> {
  const keyed = some.map((one) => ({ ...one, key: keyOfDocument(one.entry.docId, index.table) }));
  const unread = keyed.filter(({ entry }) => entry.given === null);
  const rows = await readSearchedRows(index, unread.map(({ key }) => key), index.driver);
  const read = unread.map(({ key, version }, nth): IndexChange => ({
    ...{ key, version },
    texts: rows[nth]?.texts ?? null,
  }));
  const given = keyed.filter(({ entry }) => entry.given !== null);
  return [
    ...read,
    ...await Promise.all(given.map(async ({ entry, key, version }): Promise<IndexChange> => {
      const bytes = entry.given === "document" ? await records.givenDocument(entry) : null;
      const texts = bytes === null ? null : textsOf(parseDocument(bytes), index.fields);
      return { key, version, texts };
    })),
  ];
}

function keyOfDocument(docId: string, table: TableInfo): Key {
  const key = parseKey(docId, table);
  if (key === null) throw new Error(`The id of a document is no key of the table ${table.name}`);
  return key;
}

function failure(entry: OutboxEntry, reason: string): Outcome {
  return { entry, fault: { kind: "unwritten", reason } };
}

/** For operators; it must not fill the store. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.toWellFormed().slice(0, 300);
}

function parseDocument(bytes: Uint8Array): Row {
  // No other code writes these records: the document was an object when it was enqueued.
  return JSON.parse(new TextDecoder().decode(bytes)) as Row;
}

import { chunksOf, type Key, parseKey } from "../../plan/key.ts";
import { bytesToHex } from "../../protocol/byte_text.ts";
import { type Clock, deadline, type Runtime } from "../../runtime/runtime.ts";
import type { ReportFailure } from "../indexer.ts";
import type { OpenIndex } from "../open_index.ts";
import {
  failEntry,
  finishEntry,
  leaseEntry,
  type OutboxEntry,
  postponeEntry,
  releaseEntry,
  type RetrySchedule,
} from "./outbox_entry.ts";
import type { OutboxStore } from "./outbox_store.ts";
import { DatabaseError } from "../../db/database_error.ts";
import type { Connection } from "../../db/driver.ts";
import { StoreError } from "../../kv/store_error.ts";
import type { IndexChange } from "../search_adapter.ts";
import { readSearchedRows, type SearchIndex, type SearchTexts, textsOf } from "../search_index.ts";

export interface OutboxIndex {
  readonly open: Pick<OpenIndex, "index" | "backend" | "versions" | "isPrepared" | "refill">;
  /** Called for entries that have failed too often and are no longer retried (dead entries). */
  readonly report: ReportFailure;
  /** True if the index has the option `autoIndex`: its rows are indexed again at long intervals. */
  readonly isSwept: boolean;
}

export interface OutboxParts {
  readonly records: OutboxStore;
  readonly indexes: ReadonlyMap<string, OutboxIndex>;
  readonly runtime: Omit<Runtime, "environment">;
}

export interface DrainLimits extends RetrySchedule {
  readonly batchSize: number;
}

/** The results of one run of the outbox. */
export interface DrainResult {
  /** Number of finished entries. The index contains the current rows of these entries. */
  readonly done: number;
  /** Number of failed entries. They will be retried, except the dead entries. */
  readonly failed: number;
  /** Number of entries that have now failed too often, and are dead. */
  readonly dead: number;
}

/** Indexes the rows of due entries, and removes the entries. Rejects if the store fails. */
export async function drainEntries(
  parts: OutboxParts,
  limits: DrainLimits,
): Promise<DrainResult> {
  const { records, indexes, runtime } = parts;
  const owner = bytesToHex(runtime.random.bytes(16));
  const taken = await takeDue(owner, parts, limits);
  if (taken.length === 0) return { done: 0, failed: 0, dead: 0 };
  // The versions are created before the rows are read, so the later read has the greater version.
  const drawn = [...indexes.values()].map(({ open }) => open.versions);
  const first = await records.reserveVersions(
    taken.length,
    Math.max(0, ...drawn.map((versions) => versions.next())),
  );
  for (const versions of drawn) versions.raise(first + taken.length - 1);
  const versioned = taken.map((entry, nth) => ({ entry, version: first + nth }));
  const groups = [...Map.groupBy(versioned, ({ entry }) => entry.index)];
  const outcomes = await Promise.all(groups.map(async ([name, some]) => {
    const found = indexes.get(name);
    if (found !== undefined) return await writeGroup(some, found, parts);
    const fault = { kind: "unwritten", reason: `there is no index "${name}"` } as const;
    return some.map(({ entry }) => ({ entry, fault }));
  }));
  const ended = await Promise.all(
    outcomes.flat().map(async ({ entry, fault }) => {
      const left = await records.change(entry, (current) => {
        if (current === null) return null;
        const now = runtime.clock.now();
        if (fault === null) return finishEntry(current, owner, now);
        switch (fault.kind) {
          case "late":
            return releaseEntry(current, owner);
          case "unread":
            return postponeEntry(current, owner, { now, reason: fault.reason, schedule: limits });
          case "unwritten":
            return failEntry(current, owner, { now, reason: fault.reason, schedule: limits });
        }
      });
      return { fault, left };
    }),
  );
  const dead = ended.flatMap(({ left }) => left === null || left.deadSince === null ? [] : [left]);
  await Promise.all(dead.map((entry) => reportDead(entry, indexes.get(entry.index))));
  return {
    done: ended.filter(({ fault }) => fault === null).length,
    failed: ended.filter(({ fault }) => fault !== null).length,
    dead: dead.length,
  };
}

/** How long one process can work on entries before another process takes them, in milliseconds. */
const leaseMs = 120_000;

/** From this attempt on, a document has its own request, because it may cause the failures. */
const soloAttempts = 5;

/** Maximum number of concurrent requests with only one document each. */
const soloWrites = 10;

interface Outcome {
  readonly entry: OutboxEntry;
  readonly fault: OutboxFault | null;
}

async function reportDead(
  { failure, docId, attempts }: OutboxEntry,
  found: OutboxIndex | undefined,
): Promise<void> {
  const key = found === undefined ? null : parseKey(docId, found.open.index.table);
  if (found === undefined || key === null) return;
  await found.report(new Error(`${failure} (${attempts} attempts)`), [key]);
}

async function takeDue(
  owner: string,
  { records, runtime: { clock } }: OutboxParts,
  { batchSize }: DrainLimits,
): Promise<readonly OutboxEntry[]> {
  const now = clock.now();
  const due = (await records.places("due", batchSize)).filter(({ at }) => at <= now);
  const lease = { owner, until: now + leaseMs };
  const entries = await Promise.all(
    due.map((name) =>
      records.change(
        name,
        (entry) => entry === null ? null : leaseEntry(entry, lease, now) ?? entry,
      )
    ),
  );
  return entries.filter((entry) => entry?.lease?.owner === owner).filter((entry) => entry !== null);
}

async function writeGroup(
  some: readonly VersionedEntry[],
  { open }: OutboxIndex,
  { records, runtime: { clock } }: OutboxParts,
): Promise<readonly Outcome[]> {
  const write = async (those: readonly VersionedEntry[]): Promise<readonly Outcome[]> => {
    const fault = await writeEntries(those, { open, records, clock });
    return those.map(({ entry }) => ({ entry, fault }));
  };
  const isSolo = ({ entry }: VersionedEntry) => entry.attempts >= soloAttempts;
  const together = some.filter((one) => !isSolo(one));
  const outcomes = together.length === 0 ? [] : [...await write(together)];
  for (const next of chunksOf(some.filter(isSolo), soloWrites)) {
    outcomes.push(...(await Promise.all(next.map((one) => write([one])))).flat());
  }
  return outcomes;
}

interface VersionedEntry {
  readonly entry: OutboxEntry;
  readonly version: number;
}

type OutboxFault =
  /** The rows could not be read, which does not mean that an entry is faulty. */
  | { readonly kind: "unread"; readonly reason: string }
  | { readonly kind: "unwritten"; readonly reason: string }
  | { readonly kind: "late" };

/** Writes documents to their index before other processes may take the entries. Null on success. */
async function writeEntries(
  some: readonly VersionedEntry[],
  { open: { index, backend, isPrepared }, records, clock }:
    & Pick<OutboxIndex, "open">
    & { readonly records: OutboxStore; readonly clock: Clock },
): Promise<OutboxFault | null> {
  if (!isPrepared) return { kind: "unread", reason: "the index is not prepared yet" };
  const until = Math.min(...some.map(({ entry }) => entry.lease?.until ?? 0));
  const limit = deadline(writeMs, clock, () => new Error(`no answer within ${writeMs} ms`));
  try {
    const documents = await readGiven(some, index, records);
    const { local } = backend;
    const read = async (connection: Connection, lock: boolean) => {
      // `enqueue` has received no document for these entries, so their current rows are read.
      const keys = documents.filter(({ texts }) => texts === undefined).map(({ key }) => key);
      const rows = keys.length === 0
        ? []
        : await readSearchedRows(index, keys, connection, { lock });
      const found = rows.values();
      const changes = documents.map(({ key, version, texts }): IndexChange => ({
        ...{ key, version },
        texts: texts === undefined ? found.next().value?.texts ?? null : texts,
      }));
      // Stops if the write could outlast the leases: another process could take the entries.
      if (clock.now() + writeMs > until) throw new LateDrainer();
      return changes;
    };
    if (local === null) {
      const changes = await limit.within(read(index.driver, false));
      await limit.within(backend.write(changes, { isAwaited: false })).catch((cause) => {
        throw new Unwritten(reasonOf(cause), { cause });
      });
    } else {
      await limit.within(index.driver.transaction(async (connection) => {
        await local.write(await read(connection, true), connection);
      }));
    }
  } catch (error) {
    if (error instanceof LateDrainer) return { kind: "late" };
    return { kind: isOutage(error) ? "unread" : "unwritten", reason: reasonOf(error) };
  }
  return null;
}

/** Timeout of one write to an index, in milliseconds: shorter than a lease. */
const writeMs = 30_000;

class LateDrainer extends Error {}

/** Thrown if the engine has refused a write, as opposed to an error when rows were read. */
class Unwritten extends Error {}

/** Returns true if the database or the store has failed, so that no row is the cause. */
function isOutage(error: unknown): boolean {
  if (error instanceof StoreError) return true;
  return error instanceof DatabaseError &&
    ["unavailable", "timeout", "retryable", "overloaded"].includes(error.kind);
}

/** An entry with its key. `texts` is undefined if the row must be read for its strings. */
interface GivenEntry {
  readonly key: Key;
  readonly version: number;
  readonly texts: SearchTexts | null | undefined;
}

async function readGiven(
  some: readonly VersionedEntry[],
  index: SearchIndex,
  records: OutboxStore,
): Promise<readonly GivenEntry[]> {
  return await Promise.all(some.map(async ({ entry, version }): Promise<GivenEntry> => {
    const key = parseKey(entry.docId, index.table);
    if (key === null) {
      throw new Error(`The id of a document is no key of the table ${index.table.name}`);
    }
    if (entry.given === null) return { key, version, texts: undefined };
    // Only `enqueue` stores documents, and it accepts only objects.
    const bytes = entry.given === "document" ? await records.givenDocument(entry) : null;
    const texts = bytes === null
      ? null
      : textsOf(JSON.parse(new TextDecoder().decode(bytes)), index.fields);
    return { key, version, texts };
  }));
}

/** Returns the reason of a failure, truncated so that reasons do not fill the store. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.toWellFormed().slice(0, 300);
}

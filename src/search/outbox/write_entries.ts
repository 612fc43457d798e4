import { DatabaseError } from "../../db/database_error.ts";
import type { Connection } from "../../db/driver.ts";
import { StoreError } from "../../kv/store_error.ts";
import { type Key, parseKey } from "../../plan/key.ts";
import { type Clock, deadline } from "../../runtime/runtime.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";
import type { OpenIndex } from "../open_index.ts";
import type { IndexChange } from "../search_adapter.ts";
import { readSearchedRows, type SearchIndex, type SearchTexts, textsOf } from "../search_index.ts";
import type { OutboxEntry } from "./outbox_entry.ts";
import type { OutboxStore } from "./outbox_store.ts";

/** An entry that this process works on, and the version for its index write. */
export interface VersionedEntry {
  readonly entry: OutboxEntry;
  readonly version: number;
}

/** Why entries were not written to their index. */
export type OutboxFault =
  /** The rows could not be read, which does not mean that an entry is faulty. */
  | { readonly kind: "unread"; readonly reason: string }
  | { readonly kind: "unwritten"; readonly reason: string }
  /** The lease of the entries was about to end. */
  | { readonly kind: "late" };

export interface WriteEntriesDependencies {
  readonly open: Pick<OpenIndex, "index" | "backend" | "isPrepared">;
  readonly records: OutboxStore;
  readonly clock: Clock;
}

/**
 * Writes entries to their index before their leases end: the current rows, or the documents of
 * `enqueue`. All entries succeed or fail together. Returns null if they succeed.
 */
export async function writeEntries(
  some: readonly VersionedEntry[],
  { open: { index, backend, isPrepared }, records, clock }: WriteEntriesDependencies,
): Promise<OutboxFault | null> {
  if (!isPrepared) return { kind: "unread", reason: "the index is not prepared yet" };
  const until = Math.min(...some.map(({ entry }) => entry.lease?.until ?? 0));
  const limit = deadline(writeMs, clock, () => new Error(`no answer within ${writeMs} ms`));
  try {
    const documents = await readGiven(some, index, records);
    const { local } = backend;
    const read = async (connection: Connection, lock: boolean) => {
      const changes = await readChanges(documents, index, connection, { lock });
      // The leases end soon, and then another process can take the entries.
      if (clock.now() + writeMs > until) throw new LateDrainer();
      return changes;
    };
    if (local === null) {
      const changes = await limit.within(read(index.driver, false));
      await limit.within(backend.write(changes, { isAwaited: false })).catch(asUnwritten);
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

/** Thrown if a lease is about to end. */
class LateDrainer extends Error {}

/** Thrown if the engine has refused a write, as opposed to an error when rows were read. */
class Unwritten extends Error {}

function asUnwritten(cause: unknown): never {
  throw new Unwritten(reasonOf(cause), { cause });
}

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
    const key = keyOfDocument(entry.docId, index.table);
    if (entry.given === null) return { key, version, texts: undefined };
    const bytes = entry.given === "document" ? await records.givenDocument(entry) : null;
    const texts = bytes === null ? null : textsOf(parseDocument(bytes), index.fields);
    return { key, version, texts };
  }));
}

/** Reads the current rows of entries without a document of `enqueue`. */
async function readChanges(
  documents: readonly GivenEntry[],
  index: SearchIndex,
  connection: Connection,
  options: { readonly lock: boolean },
): Promise<readonly IndexChange[]> {
  const keys = documents.filter(({ texts }) => texts === undefined).map(({ key }) => key);
  const rows = keys.length === 0 ? [] : await readSearchedRows(index, keys, connection, options);
  const found = rows.values();
  return documents.map(({ key, version, texts }): IndexChange => ({
    ...{ key, version },
    texts: texts === undefined ? found.next().value?.texts ?? null : texts,
  }));
}

function keyOfDocument(docId: string, table: TableInfo): Key {
  const key = parseKey(docId, table);
  if (key === null) throw new Error(`The id of a document is no key of the table ${table.name}`);
  return key;
}

/** Returns the reason of a failure, truncated so that reasons do not fill the store. */
function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.toWellFormed().slice(0, 300);
}

function parseDocument(bytes: Uint8Array): Row {
  // The cast is safe: only this module writes such records, and `enqueue` accepts only objects.
  return JSON.parse(new TextDecoder().decode(bytes)) as Row;
}

import type { Indexer } from "../indexer.ts";
import {
  drainEntries,
  type DrainLimits,
  type DrainResult,
  type OutboxParts,
} from "./drain_entries.ts";
import { MissedDocuments } from "./missed_documents.ts";
import { addEnqueuedChange, type DocumentName, type OutboxEntry, revive } from "./outbox_entry.ts";
import { createOutboxIndexer } from "./outbox_indexer.ts";

/**
 * The search outbox: the durable queue of changes of search indexes, with one entry for each
 * document. The queue contains ids. Rows are read when their entries are drained.
 */
export interface SearchOutbox {
  /**
   * Adds one operation, for a change outside of requests. Without a document, the row at the time
   * of the drain is indexed. Throws a plain Error for a document of more than 60,000 bytes, and a
   * `StoreError` if the store does not respond.
   */
  enqueue(operation: OutboxOperation): Promise<void>;
  /** Drains due entries once. Rejects with a `StoreError`. */
  drain(options?: DrainOptions): Promise<DrainResult>;
  /** Counts the entries. For this it reads all entries. */
  stats(): Promise<OutboxStats>;
  /** Returns the entries that failed too often, the oldest first. */
  dead(limit?: number): Promise<readonly DeadEntry[]>;
  /** Makes all dead entries, or the named entries, pending again. Returns the number of entries. */
  replayDead(names?: readonly DocumentName[]): Promise<number>;
}

/** One operation on a document of a search index. */
export interface OutboxOperation {
  /** The name of the index. Default: the name of its table. */
  readonly index: string;
  /** The type of the operation. `delete` removes the document, whatever the row contains. */
  readonly type: "index" | "delete";
  /** The id of the document, as in the last part of a row's URL. */
  readonly docId: string;
  /** The fields to index instead of the row's fields: at most 60,000 bytes of JSON. */
  readonly document?: Readonly<Record<string, unknown>> | undefined;
}

/** The options of a drain. */
export interface DrainOptions {
  /** Number of attempts after which an entry is dead. Default: the app's setting. */
  readonly maxAttempts?: number | undefined;
  /** Base of the delays, in ms: base × 2^n after attempt n. Default: the app's setting. */
  readonly backoffBaseMs?: number | undefined;
  /** Maximum number of entries of one drain. Default: the app's setting. */
  readonly batchSize?: number | undefined;
}

/** The number of entries in the search outbox. */
export interface OutboxStats {
  /** The number of entries that are not dead. */
  readonly pending: number;
  /** The number of pending entries that the next drain would take. */
  readonly ready: number;
  /** The number of pending entries that a drainer works on. */
  readonly leased: number;
  /** The number of entries that failed too often. */
  readonly dead: number;
  /** Age of the oldest pending entry in milliseconds, or null if none is pending. */
  readonly oldestAgeMs: number | null;
}

/** An entry that failed too often. */
export interface DeadEntry extends DocumentName {
  /** Time at which the entry became dead, in milliseconds since 1970. */
  readonly deadSince: number;
  /** The number of failed attempts. */
  readonly attempts: number;
  /** The error message of the last failure. */
  readonly reason: string;
}

export interface SearchOutboxDependencies extends OutboxParts {
  readonly defaults: DrainLimits;
}

export class KvSearchOutbox implements SearchOutbox {
  readonly #parts: SearchOutboxDependencies;
  readonly #missed = new MissedDocuments();

  constructor(parts: SearchOutboxDependencies) {
    this.#parts = parts;
  }

  /** Returns the indexer that records the writes of an index's table before their commit. */
  indexer(index: string): Indexer {
    return createOutboxIndexer(index, { ...this.#parts, missed: this.#missed });
  }

  async enqueue({ index, type, docId, document }: OutboxOperation): Promise<void> {
    const { records, runtime: { clock } } = this.#parts;
    const name = { index, docId };
    const given = givenBy(type, document);
    const change = (entry: OutboxEntry | null) =>
      addEnqueuedChange(entry, name, given, clock.now());
    if (document === undefined || type === "delete") await records.change(name, change);
    else await records.giveDocument(name, documentBytes(document), change);
  }

  async drain(options: DrainOptions = {}): Promise<DrainResult> {
    const { defaults } = this.#parts;
    const {
      maxAttempts = defaults.maxAttempts,
      backoffBaseMs = defaults.backoffBaseMs,
      batchSize = defaults.batchSize,
    } = options;
    await this.#addMissed();
    this.#missed.noteStoreUp();
    return await drainEntries(this.#parts, { maxAttempts, backoffBaseMs, batchSize });
  }

  async stats(): Promise<OutboxStats> {
    const { records, runtime: { clock } } = this.#parts;
    const now = clock.now();
    let [pending, ready, leased, dead, since] = [0, 0, 0, 0, Infinity];
    for await (const place of records.everyPlace("due")) {
      pending++;
      if (place.at <= now) ready++;
      else if (place.isLeased) leased++;
      since = Math.min(since, place.since);
    }
    for await (const _ of records.everyPlace("dead")) dead++;
    const oldestAgeMs = pending === 0 ? null : Math.max(0, now - since);
    return { pending, ready, leased, dead, oldestAgeMs };
  }

  async dead(limit = 100): Promise<readonly DeadEntry[]> {
    const { records } = this.#parts;
    const entries = await records.entries(await records.places("dead", limit));
    return entries.filter((entry) => entry !== null).map((entry) => ({
      index: entry.index,
      docId: entry.docId,
      deadSince: entry.deadSince ?? 0,
      attempts: entry.attempts,
      reason: entry.failure ?? "",
    }));
  }

  async replayDead(names?: readonly DocumentName[]): Promise<number> {
    const { records, runtime: { clock } } = this.#parts;
    let count = 0;
    for await (const name of names ?? records.everyPlace("dead")) {
      let isDead = false;
      await records.change(name, (entry) => {
        isDead = entry !== null && entry.deadSince !== null;
        return entry === null || !isDead ? entry : revive(entry, clock.now());
      });
      if (isDead) count++;
    }
    return count;
  }

  async #addMissed(): Promise<void> {
    const names = this.#missed.take();
    const { records, runtime: { clock } } = this.#parts;
    try {
      await Promise.all(
        names.map((name) =>
          records.change(name, (entry) => addEnqueuedChange(entry, name, null, clock.now()))
        ),
      );
    } catch (error) {
      this.#missed.add(names);
      throw error;
    }
  }
}

const maxDocumentBytes = 60_000;

function givenBy(
  type: OutboxOperation["type"],
  document: OutboxOperation["document"],
): OutboxEntry["given"] {
  if (type === "delete") return "delete";
  return document === undefined ? null : "document";
}

function documentBytes(document: Readonly<Record<string, unknown>>): Uint8Array {
  const bytes = new TextEncoder().encode(JSON.stringify(document));
  if (bytes.length <= maxDocumentBytes) return bytes;
  throw new Error(
    `Cannot enqueue a document of ${bytes.length} bytes: ${maxDocumentBytes} are the most; ` +
      "without it the row is read",
  );
}

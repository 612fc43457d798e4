import type { Indexer, PendingIndexing } from "../indexer.ts";
import {
  drainEntries,
  type DrainLimits,
  type DrainResult,
  type OutboxParts,
} from "./drain_entries.ts";
import { MissedDocuments } from "./missed_documents.ts";
import {
  addEnqueuedChange,
  addIntent,
  confirmIntent,
  type DocumentName,
  type OutboxEntry,
  type OutboxIntent,
  removeWriteIntent,
  revive,
} from "./outbox_entry.ts";
import { formatKey, type Key } from "../../plan/key.ts";
import { deadline } from "../../runtime/runtime.ts";
import { bytesToHex } from "../../protocol/byte_text.ts";

/**
 * A durable queue of documents to index again, with one entry for each document. An entry contains
 * only ids: the row is read when the queue is drained, i.e. when due entries are processed.
 */
export interface SearchOutbox {
  /**
   * Adds an operation for a change that no request has made. Without `document`, the current row is
   * indexed later. Throws a plain Error for a document of more than 60,000 bytes, or a `StoreError`
   * if the store does not respond.
   */
  enqueue(operation: OutboxOperation): Promise<void>;
  /** Processes the due entries once. Rejects with a `StoreError` if the store does not respond. */
  drain(options?: DrainOptions): Promise<DrainResult>;
  /** Counts the entries. To do so, it reads all entries. */
  stats(): Promise<OutboxStats>;
  /** Returns the dead entries (which have failed too often), the oldest first. */
  dead(limit?: number): Promise<readonly DeadEntry[]>;
  /** Makes dead entries pending again, all or only the named ones. Returns their number. */
  replayDead(names?: readonly DocumentName[]): Promise<number>;
}

/** One operation on a document of a search index. */
export interface OutboxOperation {
  /** The name of the index: the table's name, unless `indexName` is set. */
  readonly index: string;
  /** `index` writes the document. `delete` removes the document, even if the row exists. */
  readonly type: "index" | "delete";
  /** The id of the document: the row's key as in its URL. */
  readonly docId: string;
  /** Fields to index instead of the row's fields: at most 60,000 bytes of JSON. */
  readonly document?: Readonly<Record<string, unknown>> | undefined;
}

/** Options for one run that processes due entries. */
export interface DrainOptions {
  /** Number of attempts after which an entry is dead. Default: the app's setting. */
  readonly maxAttempts?: number | undefined;
  /** Base of the delays in ms: base × 2^n after the n-th attempt. Default: the app's setting. */
  readonly backoffBaseMs?: number | undefined;
  /** Maximum number of entries to process. Default: the app's setting. */
  readonly batchSize?: number | undefined;
}

/** Numbers of entries in the search outbox. */
export interface OutboxStats {
  /** The number of entries that are not dead. */
  readonly pending: number;
  /** The number of pending entries that are due now. */
  readonly ready: number;
  /** The number of pending entries on which a process is working. */
  readonly leased: number;
  /** The number of entries that have failed too often. */
  readonly dead: number;
  /** Age of the oldest pending entry in milliseconds, or null if none is pending. */
  readonly oldestAgeMs: number | null;
}

/** An entry that has failed too often, and is no longer retried. */
export interface DeadEntry extends DocumentName {
  /** When the entry failed for the last time, in milliseconds since 1970. */
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

  indexer(index: string): Indexer {
    return createOutboxIndexer(index, { ...this.#parts, missed: this.#missed });
  }

  async enqueue({ index, type, docId, document }: OutboxOperation): Promise<void> {
    const { records, runtime: { clock } } = this.#parts;
    const name = { index, docId };
    const given = givenBy(type, document);
    const change = (entry: OutboxEntry | null) =>
      addEnqueuedChange(entry, name, given, clock.now());
    const isGiven = document !== undefined && type === "index";
    await records.change(name, change, isGiven ? documentBytes(document) : null);
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

interface OutboxIndexerDependencies extends Pick<OutboxParts, "records" | "runtime"> {
  readonly missed: MissedDocuments;
}

function createOutboxIndexer(index: string, parts: OutboxIndexerDependencies): Indexer {
  const { random, clock } = parts.runtime;
  return {
    joinsTransaction: true,
    async beforeCommit(keys) {
      const names = namesOf(index, keys);
      const intent = { id: bytesToHex(random.bytes(8)), at: clock.now() };
      // The transaction holds locks, so the write must not wait for a store that is down.
      if (parts.missed.isStoreDown(clock.elapsedMs())) {
        const add = () => parts.missed.add(names);
        return { committed: add, failed: (isCertain) => isCertain ? undefined : add() };
      }
      await changeAll(names, (name, entry) => addIntent(entry, name, intent), parts);
      return pendingIndexing(index, names, intent, parts);
    },
  };
}

function namesOf(index: string, keys: readonly Key[]): readonly DocumentName[] {
  return [...new Set(keys.map((key) => formatKey(key)))].map((docId) => ({ index, docId }));
}

function pendingIndexing(
  index: string,
  names: readonly DocumentName[],
  intent: OutboxIntent,
  parts: OutboxIndexerDependencies,
): PendingIndexing {
  const confirm = async () => {
    const error = await changeAll(
      names,
      (name, entry) => confirmIntent(entry, name, intent),
      parts,
    );
    if (error === null) return;
    parts.missed.add(names);
    parts.runtime.observe({ kind: "search_outbox_missed", index, count: names.length, error });
  };
  return {
    committed: confirm,
    async failed(isCertain) {
      // The commit may have succeeded. If it failed, indexing the unchanged row is harmless.
      if (!isCertain) return await confirm();
      await changeAll(
        names,
        (_name, entry) => entry === null ? null : removeWriteIntent(entry, intent),
        parts,
      );
    },
  };
}

/** Changes the entries of several documents. Returns the first error, or null without errors. */
async function changeAll(
  names: readonly DocumentName[],
  change: (name: DocumentName, entry: OutboxEntry | null) => OutboxEntry | null,
  { records, missed, runtime: { clock } }: OutboxIndexerDependencies,
): Promise<unknown> {
  const limitMs = storeMs + 2 * names.length;
  const limit = deadline(limitMs, clock, () => new Error(`no answer within ${limitMs} ms`));
  try {
    await limit.within(
      Promise.all(names.map((name) => records.change(name, (entry) => change(name, entry)))),
    );
    missed.noteStoreUp();
    return null;
  } catch (error) {
    missed.noteStoreDown(clock.elapsedMs());
    return error;
  }
}

/** The maximum wait for the store before a write's commit, and again after it, in milliseconds. */
const storeMs = 1_000;

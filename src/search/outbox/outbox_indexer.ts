import { formatKey, type Key } from "../../plan/key.ts";
import { deadline } from "../../runtime/deadline.ts";
import { bytesToHex } from "../../protocol/byte_text.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { Indexer, PendingIndexing } from "../indexer.ts";
import type { MissedDocuments } from "./missed_documents.ts";
import {
  addIntent,
  confirmIntent,
  type DocumentName,
  type OutboxEntry,
  type OutboxIntent,
  withdrawIntent,
} from "./outbox_entry.ts";
import type { OutboxStore } from "./outbox_store.ts";

/** What the indexer of an outbox works with. */
export interface OutboxIndexerParts {
  readonly records: OutboxStore;
  /** Takes what the key-value store did not. */
  readonly missed: MissedDocuments;
  readonly runtime: Pick<Runtime, "clock" | "random" | "observe">;
}

/**
 * Makes the {@link Indexer} of one index that announces every write in the outbox before it is
 * committed, and confirms it after that.
 */
export function createOutboxIndexer(index: string, parts: OutboxIndexerParts): Indexer {
  const { random, clock } = parts.runtime;
  return {
    joinsTransaction: true,
    async beforeCommit(keys) {
      const names = namesOf(index, keys);
      const intent = { id: bytesToHex(random.bytes(8)), at: clock.now() };
      const announced = { index, names, intent };
      // Every other write may wait for this transaction.
      if (parts.missed.isStoreDown(clock.elapsedMs())) return missedIndexing(announced, parts);
      await changeAll(names, (name, entry) => addIntent(entry, name, intent), parts);
      return pendingIndexing(announced, parts);
    },
  };
}

function namesOf(index: string, keys: readonly Key[]): readonly DocumentName[] {
  return [...new Set(keys.map((key) => formatKey(key)))].map((docId) => ({ index, docId }));
}

/** The documents of one write. */
interface AnnouncedWrite {
  readonly index: string;
  readonly names: readonly DocumentName[];
  readonly intent: OutboxIntent;
}

function pendingIndexing(
  { index, names, intent }: AnnouncedWrite,
  parts: OutboxIndexerParts,
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
      // The row is read again: it does not matter whether it was written.
      if (!isCertain) return await confirm();
      await changeAll(
        names,
        (_name, entry) => entry === null ? null : withdrawIntent(entry, intent),
        parts,
      );
    },
  };
}

/** The write was not announced, as the store did not answer the one before it. */
function missedIndexing(
  { names }: AnnouncedWrite,
  { missed }: OutboxIndexerParts,
): PendingIndexing {
  return {
    committed: () => missed.add(names),
    failed: (isCertain) => isCertain ? undefined : missed.add(names),
  };
}

/** Changes the entries of all documents; gives the first error, or null. */
async function changeAll(
  names: readonly DocumentName[],
  change: (name: DocumentName, entry: OutboxEntry | null) => OutboxEntry | null,
  { records, missed, runtime: { clock } }: OutboxIndexerParts,
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

/** How long a write waits for the store, once before its commit and once after it. */
const storeMs = 1_000;

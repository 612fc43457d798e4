import { formatKey, type Key } from "../../plan/key.ts";
import { deadline } from "../../runtime/deadline.ts";
import { bytesToHex } from "../../protocol/byte_text.ts";
import type { Indexer, PendingIndexing } from "../indexer.ts";
import type { OutboxParts } from "./drain_entries.ts";
import type { MissedDocuments } from "./missed_documents.ts";
import {
  addIntent,
  confirmIntent,
  type DocumentName,
  type OutboxEntry,
  type OutboxIntent,
  removeWriteIntent,
} from "./outbox_entry.ts";

export interface OutboxIndexerDependencies extends Pick<OutboxParts, "records" | "runtime"> {
  /** Receives the documents that could not be recorded, because the store was down. */
  readonly missed: MissedDocuments;
}

/** Creates the {@link Indexer} of an index. It records writes and their commits in the outbox. */
export function createOutboxIndexer(index: string, parts: OutboxIndexerDependencies): Indexer {
  const { random, clock } = parts.runtime;
  return {
    joinsTransaction: true,
    async beforeCommit(keys) {
      const names = namesOf(index, keys);
      const intent = { id: bytesToHex(random.bytes(8)), at: clock.now() };
      const announced = { index, names, intent };
      // The write's transaction holds locks, so it must not wait for a store that is down.
      if (parts.missed.isStoreDown(clock.elapsedMs())) return missedIndexing(announced, parts);
      await changeAll(names, (name, entry) => addIntent(entry, name, intent), parts);
      return pendingIndexing(announced, parts);
    },
  };
}

function namesOf(index: string, keys: readonly Key[]): readonly DocumentName[] {
  return [...new Set(keys.map((key) => formatKey(key)))].map((docId) => ({ index, docId }));
}

interface AnnouncedWrite {
  readonly index: string;
  readonly names: readonly DocumentName[];
  readonly intent: OutboxIntent;
}

function pendingIndexing(
  { index, names, intent }: AnnouncedWrite,
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
      // The commit may have succeeded. If not, the row is only read once more than necessary.
      if (!isCertain) return await confirm();
      await changeAll(
        names,
        (_name, entry) => entry === null ? null : removeWriteIntent(entry, intent),
        parts,
      );
    },
  };
}

/** Handles a write that could not be recorded before its commit, because the store was down. */
function missedIndexing(
  { names }: AnnouncedWrite,
  { missed }: OutboxIndexerDependencies,
): PendingIndexing {
  return {
    committed: () => missed.add(names),
    failed: (isCertain) => isCertain ? undefined : missed.add(names),
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

/** How long a write waits for the store, once before and once after its commit, in milliseconds. */
const storeMs = 1_000;

import { formatKey, type Key } from "../../plan/key.ts";
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
      // A store that does not answer now may do so after the commit.
      await changeAll(names, (name, entry) => addIntent(entry, name, intent), parts);
      return pendingIndexing(names, intent, parts);
    },
  };
}

function namesOf(index: string, keys: readonly Key[]): readonly DocumentName[] {
  return [...new Set(keys.map(formatKey))].map((docId) => ({ index, docId }));
}

function pendingIndexing(
  names: readonly DocumentName[],
  intent: OutboxIntent,
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
    const [{ index } = { index: "" }] = names;
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

/** Changes the entries of all documents; gives the first error, or null. */
async function changeAll(
  names: readonly DocumentName[],
  change: (name: DocumentName, entry: OutboxEntry | null) => OutboxEntry | null,
  { records }: OutboxIndexerParts,
): Promise<unknown> {
  const results = await Promise.allSettled(
    names.map((name) => records.change(name, (entry) => change(name, entry))),
  );
  const failed = results.find(({ status }) => status === "rejected");
  return failed?.status === "rejected" ? failed.reason : null;
}

import { entriesBelow } from "../../kv/entries_below.ts";
import { HotKeys } from "../../kv/hot_keys.ts";
import type { KeyValue, KeyValueEntry, KeyValueMutation } from "../../kv/key_value.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import {
  type DocumentName,
  type OutboxEntry,
  type OutboxQueuePosition,
  queuePositionOf,
} from "./outbox_entry.ts";
import { outboxKeys } from "./outbox_keys.ts";

/** Computes the new entry; null means no entry. Must be pure, because it can run several times. */
export type ChangeEntry = (entry: OutboxEntry | null) => OutboxEntry | null;

export interface QueuedDocument extends DocumentName {
  readonly at: number;
  readonly since: number;
  readonly isLeased: boolean;
  /** True if the entry has work that is known to be committed. */
  readonly hasWork: boolean;
}

/** Stores the search outbox. One commit writes an entry and its record in the due or dead list. */
export class OutboxStore {
  readonly #store: KeyValue;
  readonly #runtime: Pick<Runtime, "clock" | "random">;
  readonly #hot: HotKeys;
  /** Writes entries with documents of `enqueue`. Only a few of these fit into one commit. */
  readonly #large: HotKeys;

  constructor(store: KeyValue, runtime: Pick<Runtime, "clock" | "random">) {
    this.#store = store;
    this.#runtime = runtime;
    this.#hot = new HotKeys(store, { ...runtime, maxChanges: 200 });
    this.#large = new HotKeys(store, { ...runtime, maxChanges: 10 });
  }

  change(
    name: DocumentName,
    change: ChangeEntry,
    given: Uint8Array | null = null,
  ): Promise<OutboxEntry | null> {
    return (given === null ? this.#hot : this.#large).update(outboxKeys.entry(name), (value) => {
      const before = asEntry(value);
      const after = change(before);
      if (after === before) return { result: after };
      const record = after === null ? null : { value: after };
      // These changes of other records must be committed with the change of the entry.
      const related: KeyValueMutation[] = [];
      const from = before === null ? null : queuePositionOf(before);
      const to = after === null ? null : queuePositionOf(after);
      if (after !== null && to !== null) {
        const { index, docId, since, lease, readyRevision } = after;
        const state = { isLeased: lease !== null, hasWork: readyRevision !== null };
        const queued: Omit<QueuedDocument, "at"> = { index, docId, since, ...state };
        related.push({ kind: "set", key: outboxKeys.place(name, to), value: queued });
      }
      if (from !== null && (from.kind !== to?.kind || from.at !== to.at)) {
        related.push({ kind: "delete", key: outboxKeys.place(name, from) });
      }
      if (before?.given === "document" && after?.given !== "document") {
        related.push({ kind: "delete", key: outboxKeys.document(name) });
      }
      if (given === null) return { result: after, record, relatedMutations: related };
      const document = { kind: "set", key: outboxKeys.document(name), value: given } as const;
      return { result: after, record, relatedMutations: [...related, document] };
    });
  }

  async givenDocument(name: DocumentName): Promise<Uint8Array | null> {
    const { value } = await this.#store.get(outboxKeys.document(name));
    return value instanceof Uint8Array ? value : null;
  }

  async entries(names: readonly DocumentName[]): Promise<readonly (OutboxEntry | null)[]> {
    const found = await this.#store.getMany(names.map(outboxKeys.entry));
    return found.map(({ value }) => asEntry(value));
  }

  async places(
    kind: OutboxQueuePosition["kind"],
    limit: number,
  ): Promise<readonly QueuedDocument[]> {
    return (await this.#store.list({ prefix: outboxKeys.places(kind), limit })).map(asPlaced);
  }

  async *everyPlace(kind: OutboxQueuePosition["kind"]): AsyncGenerator<QueuedDocument> {
    for await (const entry of entriesBelow(this.#store, outboxKeys.places(kind))) {
      yield asPlaced(entry);
    }
  }

  /** Reserves versions that are greater than all earlier versions. Returns the first version. */
  async reserveVersions(count: number, atLeast: number): Promise<number> {
    return await this.#hot.update(outboxKeys.version, (value) => {
      const last = typeof value === "number" ? value : 0;
      const first = Math.max(last + 1, atLeast, Math.floor(this.#runtime.clock.now() * 1_000));
      return { result: first, record: { value: first + count - 1 } };
    });
  }

  /** Returns true if all rows must be indexed again. The first call only starts the interval. */
  async takeSweep(intervalMs: number): Promise<boolean> {
    return await this.#hot.update(outboxKeys.sweep, (value) => {
      const now = this.#runtime.clock.now();
      const isDue = typeof value === "number" && value + intervalMs <= now;
      const record = isDue || value === undefined ? { value: now } : undefined;
      return { result: isDue, record };
    });
  }

  /** Schedules the next indexing of all rows in five minutes, because this one did not finish. */
  async repeatSweep(intervalMs: number): Promise<void> {
    const value = this.#runtime.clock.now() - intervalMs + sweepRetryMs;
    await this.#hot.update(outboxKeys.sweep, () => ({ result: undefined, record: { value } }));
  }

  /** Takes or extends the lease to process entries. Returns false if another process has it. */
  async takeDrainerLease(owner: string, leaseMs: number): Promise<boolean> {
    return await this.#hot.update(outboxKeys.drainer, (value) => {
      const now = this.#runtime.clock.now();
      const held = asDrainer(value);
      const isFree = held === null || held.owner === owner || held.until <= now;
      if (!isFree) return { result: false };
      return { result: true, record: { value: { owner, until: now + leaseMs } } };
    });
  }

  async releaseDrainerLease(owner: string): Promise<void> {
    await this.#hot.update(outboxKeys.drainer, (value) => {
      const isOwn = asDrainer(value)?.owner === owner;
      return { result: undefined, record: isOwn ? null : undefined };
    });
  }
}

const sweepRetryMs = 300_000;

interface DrainerRecord {
  readonly owner: string;
  readonly until: number;
}

function asPlaced({ key, value }: KeyValueEntry): QueuedDocument {
  // The cast is safe: only this code writes below the prefix. The key's fourth part is the time.
  return { ...(value as Omit<QueuedDocument, "at">), at: Number(key[3]) };
}

function asEntry(value: unknown): OutboxEntry | null {
  // The cast is safe, because no other code writes these keys.
  return value === undefined ? null : value as OutboxEntry;
}

function asDrainer(value: unknown): DrainerRecord | null {
  // The cast is safe, because no other code writes this key.
  return value === undefined ? null : value as DrainerRecord;
}

import { waitBackoff } from "../runtime/backoff.ts";
import { maxChecksPerCommit } from "./memory_key_value.ts";
import { encodeKey } from "./key_encoding.ts";
import {
  type ComputeChange,
  draftChanges,
  type KeyQueue,
  type PendingUpdate,
  type QueueDraft,
  type QueueState,
} from "./key_change.ts";
import type { KeyValue, KeyValueKey, KeyValueMutation } from "./key_value.ts";
import { runAfterPendingIo, type Runtime } from "../runtime/runtime.ts";
import { StoreError } from "./store_error.ts";

export interface HotKeysOptions extends Pick<Runtime, "clock" | "random"> {
  /** How long a change is retried while other processes change the key, in ms. Default: 3,000. */
  readonly deadlineMs?: number | undefined;
  readonly maxChanges?: number | undefined;
}

/** Changes records of busy keys. A key's waiting changes share one commit, to avoid conflicts. */
export class HotKeys {
  readonly #store: KeyValue;
  readonly #options: HotKeysOptions;
  readonly #queues = new Map<string, KeyQueue>();
  #ready: KeyQueue[] = [];
  #openBatches = 0;
  #isScheduled = false;
  #cancelTimer: (() => void) | null = null;

  constructor(store: KeyValue, options: HotKeysOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Changes a record. `change` also receives the records `reads`; it runs again on a conflict. */
  update<Result>(
    key: KeyValueKey,
    change: ComputeChange<Result>,
    reads: readonly KeyValueKey[] = [],
  ): Promise<Result> {
    const code = encodeKey(key);
    return new Promise((resolve, reject) => {
      this.#enqueue(key, code, {
        enqueuedAt: this.#now(),
        reads,
        run(value, values) {
          const { result, record, relatedMutations = [] } = change(value, values);
          return { record, relatedMutations, resolve: () => resolve(result) };
        },
        reject,
      });
    });
  }

  #enqueue(key: KeyValueKey, code: string, update: PendingUpdate): void {
    const queue = this.#queues.get(code);
    if (queue !== undefined) {
      queue.updates.push(update);
      return;
    }
    const first: KeyQueue = { key, code, updates: [update], readySince: update.enqueuedAt };
    this.#queues.set(code, first);
    this.#ready.push(first);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    runAfterPendingIo(() => {
      this.#isScheduled = false;
      this.#startBatches();
    });
  }

  #startBatches(): void {
    while (this.#mayStartBatch()) this.#runBatch(this.#ready.splice(0, maxChecksPerCommit));
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#ready.length === 0) return;
    this.#cancelTimer = this.#options.clock.after(maxGroupingMs, () => {
      this.#cancelTimer = null;
      this.#startBatches();
    });
  }

  /** Returns true if a batch may start. Keys wait up to {@link maxGroupingMs} to share a batch. */
  #mayStartBatch(): boolean {
    const [first] = this.#ready;
    if (first === undefined || this.#openBatches >= maxOpenBatches) return false;
    return this.#openBatches === 0 || this.#ready.length >= maxChecksPerCommit ||
      this.#now() - first.readySince >= maxGroupingMs;
  }

  async #runBatch(queues: readonly KeyQueue[]): Promise<void> {
    this.#openBatches++;
    await this.#attempt(queues, 1);
    this.#openBatches--;
    for (const queue of queues) {
      if (queue.updates.length === 0) this.#queues.delete(queue.code);
      else {
        queue.readySince = this.#now();
        this.#ready.push(queue);
      }
    }
    if (this.#ready.length > 0) this.#schedule();
  }

  async #attempt(queues: readonly KeyQueue[], tries: number): Promise<void> {
    const waiting = queues.filter((queue) => queue.updates.length > 0);
    if (waiting.length === 0) return;
    const most = Math.ceil((this.#options.maxChanges ?? Infinity) / waiting.length);
    const updates = waiting.map((queue) => queue.updates.splice(0, most));
    try {
      const states = await this.#read(waiting, updates);
      const drafts = waiting.map((queue, index) =>
        draftChanges(queue, updates[index] ?? [], states[index])
      );
      if (await this.#commit(drafts)) {
        for (const { resolvers } of drafts) for (const resolve of resolvers) resolve();
        return;
      }
    } catch (error) {
      // One of the records may have caused the failure, so the keys are retried in smaller batches.
      if (error instanceof StoreError || waiting.length === 1) {
        return rejectUpdates(waiting, updates.flat(), error);
      }
    }
    waiting.forEach((queue, index) => queue.updates.unshift(...updates[index] ?? []));
    await this.#retry(waiting, tries);
  }

  /**
   * Reads related records not before their hot key. Checks only hot keys for conflicts, because a
   * commit that changes a related record must also change its hot key.
   */
  async #read(
    queues: readonly KeyQueue[],
    updates: readonly (readonly PendingUpdate[])[],
  ): Promise<readonly QueueState[]> {
    const keys = queues.map(({ key }) => key);
    const reads = updates.map((some) => some.flatMap((update) => update.reads));
    const further = [
      ...new Map(reads.flat().map((key) => [encodeKey(key), key] as const)).values(),
    ];
    const isOneMoment = keys.length + further.length <= keysOfOneMoment;
    const first = await this.#store.getMany(isOneMoment ? [...keys, ...further] : keys);
    const related = isOneMoment
      ? first.slice(keys.length)
      : further.length === 0
      ? []
      : await this.#store.getMany(further);
    const values = new Map(related.map(({ key, value }) => [encodeKey(key), value]));
    return queues.map((_, index) => ({
      value: first[index]?.value,
      versionstamp: first[index]?.versionstamp ?? null,
      relatedValues: values,
    }));
  }

  async #commit(drafts: readonly QueueDraft[]): Promise<boolean> {
    const changed = drafts.filter(({ mutation }) => mutation !== null);
    if (changed.length === 0) return true;
    const relatedMutations = changed.flatMap((draft) => draft.relatedMutations);
    const mutations = [...changed.flatMap(({ mutation }) => mutation ?? []), ...relatedMutations];
    const proof = [...relatedMutations, ...mutations].find((one, index, all) =>
      one.kind === "set" && !isDeletedAfter(index, one, all)
    );
    const { ok } = await this.#store.commit({
      checks: changed.map(({ queue, versionstamp }) => ({ key: queue.key, versionstamp })),
      mutations,
      claim: proof?.key,
    });
    return ok;
  }

  /** After a conflict, retries the keys in two halves, to isolate the key that changed. */
  async #retry(queues: readonly KeyQueue[], tries: number): Promise<void> {
    if (queues.length > 1) {
      const half = Math.ceil(queues.length / 2);
      await Promise.all([
        this.#attempt(queues.slice(0, half), tries),
        this.#attempt(queues.slice(half), tries),
      ]);
      return;
    }
    await waitBackoff(tries, this.#options);
    for (const queue of queues) this.#rejectOverdue(queue);
    await this.#attempt(queues, tries + 1);
  }

  #rejectOverdue(queue: KeyQueue): void {
    const { deadlineMs = 3_000 } = this.#options;
    const latest = this.#now() - deadlineMs;
    const error = new StoreError(
      "unavailable",
      new Error(`Others were faster for ${deadlineMs} ms`),
    );
    for (const update of queue.updates) if (update.enqueuedAt <= latest) update.reject(error);
    queue.updates = queue.updates.filter(({ enqueuedAt }) => enqueuedAt > latest);
  }

  #now(): number {
    return this.#options.clock.elapsedMs();
  }
}

const maxGroupingMs = 5;

const maxOpenBatches = 16;

const keysOfOneMoment = 10;

function isDeletedAfter(
  index: number,
  { key }: KeyValueMutation,
  all: readonly KeyValueMutation[],
): boolean {
  const deletions = all.filter(({ kind }, at) => kind === "delete" && at > index);
  if (deletions.length === 0) return false;
  const code = encodeKey(key);
  return deletions.some((one) => encodeKey(one.key) === code);
}

function rejectUpdates(
  queues: readonly KeyQueue[],
  updates: readonly PendingUpdate[],
  error: unknown,
): void {
  for (const update of updates) update.reject(error);
  if (!(error instanceof StoreError)) return;
  for (const queue of queues) for (const update of queue.updates.splice(0)) update.reject(error);
}

import { waitBackoff } from "../runtime/backoff.ts";
import { maxChecks } from "./validate_commit.ts";
import { encodeKey } from "./key_encoding.ts";
import type { KeyValue, KeyValueKey, KeyValueMutation } from "./key_value.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { StoreError } from "./store_error.ts";
import { afterPendingIo } from "../runtime/event_loop.ts";

/** What became of a record, and what its change found. */
export interface KeyChange<Result> {
  /** What {@link HotKeys.update} resolves with once the change is stored. */
  readonly result: Result;
  /** The record from now on: null removes it, and unless set it stays as it is. */
  readonly record?:
    | { readonly value: unknown; readonly expireInMs?: number | undefined }
    | null
    | undefined;
}

/** What {@link HotKeys} works with. */
export interface HotKeysOptions extends Pick<Runtime, "clock" | "random"> {
  /** How long a change may meet those of other processes; 3,000 unless set. */
  readonly deadlineMs?: number | undefined;
}

/** A change that waits, without the type of what it finds. */
interface PendingUpdate {
  readonly enteredAt: number;
  readonly run: (value: unknown) => ComputedUpdate;
  readonly reject: (error: unknown) => void;
}

interface ComputedUpdate {
  readonly record: KeyChange<unknown>["record"];
  readonly resolve: () => void;
}

/** Everybody who wants to change one key. */
interface KeyQueue {
  readonly key: KeyValueKey;
  readonly code: string;
  updates: PendingUpdate[];
  readySince: number;
}

/** What the callers of one line make of its record. */
interface QueueDraft {
  readonly queue: KeyQueue;
  readonly versionstamp: string | null;
  readonly mutation: KeyValueMutation | null;
  readonly resolvers: readonly (() => void)[];
}

/**
 * Changes of records that many want to change at once. Alone, each would read, write and find that
 * another was faster: 64 callers of one key took 2 s. Here all who came meanwhile share one read
 * and one checked commit, up to ten keys together, in the order in which they came.
 */
export class HotKeys {
  readonly #store: KeyValue;
  readonly #options: HotKeysOptions;
  readonly #queues = new Map<string, KeyQueue>();
  /** Lines that are in no flight. */
  #ready: KeyQueue[] = [];
  #openBatches = 0;
  #isScheduled = false;
  #cancelTimer: (() => void) | null = null;

  /** Begins nothing before the first change. */
  constructor(store: KeyValue, options: HotKeysOptions) {
    this.#store = store;
    this.#options = options;
  }

  /**
   * Changes the record of a key: `change` is given its value, undefined where there is none. It may
   * be asked again, with another value, where somebody else was faster, so that it changes nothing
   * outside. What it throws, this rejects with, and nothing is stored.
   */
  update<Result>(key: KeyValueKey, change: (value: unknown) => KeyChange<Result>): Promise<Result> {
    const code = encodeKey(key);
    return new Promise((resolve, reject) => {
      this.#enqueue(key, code, {
        enteredAt: this.#now(),
        run(value) {
          const { result, record } = change(value);
          return { record, resolve: () => resolve(result) };
        },
        reject,
      });
    });
  }

  #enqueue(key: KeyValueKey, code: string, caller: PendingUpdate): void {
    const line = this.#queues.get(code);
    if (line !== undefined) {
      line.updates.push(caller);
      return;
    }
    const first: KeyQueue = { key, code, updates: [caller], readySince: caller.enteredAt };
    this.#queues.set(code, first);
    this.#ready.push(first);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    afterPendingIo(() => {
      this.#isScheduled = false;
      this.#startBatches();
    });
  }

  #startBatches(): void {
    while (this.#mayStartBatch()) this.#runBatch(this.#ready.splice(0, maxChecks));
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#ready.length === 0) return;
    this.#cancelTimer = this.#options.clock.after(busyTimeoutMs, () => {
      this.#cancelTimer = null;
      this.#startBatches();
    });
  }

  /**
   * While something is in flight, keys wait for company: a commit costs the same for ten. A store
   * that is far away is not waited for, though.
   */
  #mayStartBatch(): boolean {
    const [first] = this.#ready;
    if (first === undefined || this.#openBatches >= maxFlights) return false;
    return this.#openBatches === 0 || this.#ready.length >= maxChecks ||
      this.#now() - first.readySince >= busyTimeoutMs;
  }

  async #runBatch(lines: readonly KeyQueue[]): Promise<void> {
    this.#openBatches++;
    await this.#attempt(lines, 1);
    this.#openBatches--;
    for (const line of lines) {
      if (line.updates.length === 0) this.#queues.delete(line.code);
      else {
        line.readySince = this.#now();
        this.#ready.push(line);
      }
    }
    if (this.#ready.length > 0) this.#schedule();
  }

  /** Ends when everybody who was there at the beginning has an answer; never rejects. */
  async #attempt(lines: readonly KeyQueue[], tries: number): Promise<void> {
    const asked = lines.filter((line) => line.updates.length > 0);
    const callers = asked.map((line) => line.updates.splice(0));
    if (asked.length === 0) return;
    try {
      const entries = await this.#store.getMany(asked.map(({ key }) => key));
      const drafts = asked.map((line, index) => {
        const { value, versionstamp = null } = entries[index] ?? {};
        return draftChanges(line, callers[index] ?? [], value, versionstamp);
      });
      if (await this.#commit(drafts)) {
        for (const { resolvers: tellers } of drafts) for (const tell of tellers) tell();
        return;
      }
    } catch (error) {
      // Alone each may succeed: the fault can be that of one record.
      if (error instanceof StoreError || asked.length === 1) {
        return rejectUpdates(asked, callers.flat(), error);
      }
    }
    asked.forEach((line, index) => line.updates.unshift(...callers[index] ?? []));
    await this.#retry(asked, tries);
  }

  async #commit(drafts: readonly QueueDraft[]): Promise<boolean> {
    const changed = drafts.filter(({ mutation }) => mutation !== null);
    if (changed.length === 0) return true;
    const mutations = changed.flatMap(({ mutation }) => mutation ?? []);
    const { ok } = await this.#store.commit({
      checks: changed.map(({ queue: line, versionstamp }) => ({ key: line.key, versionstamp })),
      mutations,
      claim: mutations.find(({ kind }) => kind === "set")?.key,
    });
    return ok;
  }

  /** Another process was faster at one of the keys, and nobody says at which. */
  async #retry(lines: readonly KeyQueue[], tries: number): Promise<void> {
    if (lines.length > 1) {
      const half = Math.ceil(lines.length / 2);
      await Promise.all([
        this.#attempt(lines.slice(0, half), tries),
        this.#attempt(lines.slice(half), tries),
      ]);
      return;
    }
    await waitBackoff(tries, this.#options);
    for (const line of lines) this.#rejectOverdue(line);
    await this.#attempt(lines, tries + 1);
  }

  #rejectOverdue(line: KeyQueue): void {
    const { deadlineMs = 3_000 } = this.#options;
    const latest = this.#now() - deadlineMs;
    const error = new StoreError(
      "unavailable",
      new Error(`Others were faster for ${deadlineMs} ms`),
    );
    for (const caller of line.updates) if (caller.enteredAt <= latest) caller.reject(error);
    line.updates = line.updates.filter(({ enteredAt }) => enteredAt > latest);
  }

  #now(): number {
    return this.#options.clock.elapsedMs();
  }
}

/** So long a key waits for company while others are in flight. */
const busyTimeoutMs = 5;

/** A far store answers late, and each flight takes ten keys only. */
const maxFlights = 16;

/** Lets the callers change the value one after the other. */
function draftChanges(
  line: KeyQueue,
  callers: readonly PendingUpdate[],
  value: unknown,
  versionstamp: string | null,
): QueueDraft {
  const tellers: (() => void)[] = [];
  let current = value;
  let mutation: KeyValueMutation | null = null;
  for (const caller of callers) {
    try {
      const { record, resolve: tell } = caller.run(current);
      tellers.push(tell);
      if (record === undefined) continue;
      current = record?.value;
      mutation = record === null
        ? { kind: "delete", key: line.key }
        : { kind: "set", key: line.key, ...record };
    } catch (error) {
      // The change refused by itself; the others do not depend on it.
      tellers.push(() => caller.reject(error));
    }
  }
  return { queue: line, versionstamp, mutation, resolvers: tellers };
}

/** Whoever waits behind those whom the store failed would only wait for the same. */
function rejectUpdates(
  lines: readonly KeyQueue[],
  callers: readonly PendingUpdate[],
  error: unknown,
): void {
  for (const caller of callers) caller.reject(error);
  if (!(error instanceof StoreError)) return;
  for (const line of lines) for (const caller of line.updates.splice(0)) caller.reject(error);
}

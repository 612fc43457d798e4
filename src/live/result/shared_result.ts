import type { Position } from "../../db/changes/log_position.ts";
import { DatabaseError } from "../../db/database_error.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { Semaphore } from "../../runtime/queues/semaphore.ts";
import { runAfterPendingIo } from "../../runtime/runtime.ts";
import type { TransitionListener } from "../dispatch/group_listener.ts";
import type { InvalidationReason } from "../dispatch/server_sent_events.ts";
import type { SubscriberGroup } from "../dispatch/subscriber_group.ts";
import type { LiveQuery } from "../live_view.ts";
import type { RowChange, Transition } from "../match/row_change.ts";
import type { StreamContext } from "../stream_context.ts";

export interface ResultListener {
  readonly identity: string;
  show(): void;
  fail(error: unknown): void;
}

/** The next bytes, and the value of `sent` with which the stream requests the frame after them. */
export type ResultFrame = readonly [bytes: Uint8Array, sent: unknown];

export interface SharedResultOptions {
  readonly query: LiveQuery;
  readonly listener: ResultListener;
}

/** The result of one query. Reads of the database keep it current for all streams that show it. */
export abstract class SharedResult<
  Reading extends { readonly position: Position } = { readonly position: Position },
> implements TransitionListener {
  readonly query: LiveQuery;
  protected readonly context: StreamContext;
  protected readonly group: SubscriberGroup;
  /** True if the result in memory includes exactly the changes that the feed has published. */
  protected isExact = false;
  /** Increases with each change that the result in memory cannot include without a new read. */
  protected round = 0;
  protected events = 0;
  protected shownAt: Position | null = null;
  protected readonly closing = new AbortController();
  protected isReading = false;
  readonly #rules: { readonly semaphore: Semaphore; readonly coalesceMs: number };
  readonly #listeners: Set<ResultListener>;
  /** The user or IP address of the oldest listener. The limits of this user or address apply. */
  #identity: string;
  #restsUntil = 0;
  /** Monotonic time of the next planned read; `Infinity` if no read is planned. */
  #readsAt = Infinity;
  #cancelReading: (() => void) | null = null;

  constructor(
    context: StreamContext,
    { query, listener }: SharedResultOptions,
    rules: { readonly semaphore: Semaphore; readonly coalesceMs: number },
  ) {
    this.#rules = rules;
    this.context = context;
    this.query = query;
    this.#listeners = new Set([listener]);
    this.#identity = listener.identity;
    this.group = context.dispatcher.enter(query);
    this.group.transitionListeners.add(this);
  }

  /** Returns the frame after `sent` (the value from the stream's last frame), or null if none. */
  abstract frameAfter(sent: unknown): ResultFrame | null;
  abstract receive(transitions: readonly Transition[], to: Position | null): void;
  protected abstract fetch(): Promise<Reading>;
  protected abstract adopt(reading: Reading): MaybePromise<void>;

  get identity(): string {
    return this.#identity;
  }

  protected get isClosed(): boolean {
    return this.closing.signal.aborted;
  }

  add(listener: ResultListener): void {
    this.#listeners.add(listener);
  }

  /** Removes a listener. Returns false and closes the result if no listener remains. */
  remove(listener: ResultListener): boolean {
    this.#listeners.delete(listener);
    const [eldest] = this.#listeners;
    if (eldest === undefined) {
      this.close();
      return false;
    }
    this.#identity = eldest.identity;
    return true;
  }

  doubt(_rowChange: RowChange): void {
    this.outdate();
  }

  invalidate(reason: InvalidationReason): void {
    // After a restore of the database, its log positions cannot be compared with earlier positions.
    if (reason === "history_lost") this.shownAt = null;
    this.outdate();
  }

  fail(error: unknown): void {
    for (const listener of [...this.#listeners]) listener.fail(error);
  }

  protected close(): void {
    this.closing.abort();
    this.#cancelReading?.();
    this.group.transitionListeners.delete(this);
    this.context.dispatcher.leave(this.group);
  }

  protected outdate(): void {
    this.isExact = false;
    this.round++;
    this.readIn(this.#rules.coalesceMs);
  }

  protected async showAll(): Promise<void> {
    let count = 0;
    for (const listener of [...this.#listeners]) {
      if (++count % sliceSize === 0) await new Promise<void>(runAfterPendingIo);
      listener.show();
    }
  }

  protected readIn(delayMs: number): void {
    const { clock } = this.context.runtime;
    const now = clock.elapsedMs();
    const at = Math.max(now + delayMs, this.#restsUntil);
    if (this.isReading || this.isClosed || at >= this.#readsAt) return;
    this.#cancelReading?.();
    this.#readsAt = at;
    this.#cancelReading = clock.after(at - now, () => void this.read());
  }

  protected async read(): Promise<void> {
    const { feed } = this.context;
    let delayMs = this.#rules.coalesceMs;
    this.isReading = true;
    this.#readsAt = Infinity;
    try {
      const reading = await this.#rules.semaphore.run(() => this.#fetchOnce());
      const isReached = this.isClosed || await feed.readUpTo(reading.position);
      // The feed cannot reach the read's position if the database was restored after the read.
      if (!isReached) this.invalidate("history_lost");
      else if (!this.isClosed) await feed.whilePaused(() => this.adopt(reading));
    } catch (error) {
      // If the database was closed, all streams have already ended, and `fail` does nothing.
      if (error instanceof DatabaseError && error.kind === "overloaded") delayMs = overloadMs;
      else this.fail(error);
    }
    this.isReading = false;
    if (!this.isExact) this.readIn(delayMs);
    else if (this.events > 0) this.readIn(checkMs);
  }

  async #fetchOnce(): Promise<Reading> {
    const { clock } = this.context.runtime;
    const startedAt = clock.elapsedMs();
    const reading = await this.fetch();
    const now = clock.elapsedMs();
    this.#restsUntil = now + restFactor * (now - startedAt);
    return reading;
  }
}

/** Milliseconds from the first change until a read checks the result in memory. */
export const checkMs = 60_000;

/** After a read, the next read waits for the duration of the read times this factor. */
const restFactor = 4;

const overloadMs = 1_000;

const sliceSize = 100;

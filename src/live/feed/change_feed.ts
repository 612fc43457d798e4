import { DatabaseError } from "../../db/database_error.ts";
import type { Change, ChangeLog, ChangeLogStep } from "../../db/changes/change_log.ts";
import type { Position } from "../../db/changes/log_position.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { orderByTransaction } from "./order_by_transaction.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { RingBuffer, type RingBufferLimits } from "./ring_buffer.ts";

/** A batch of the change feed: the changes of one step of the log, or a part of a large step. */
export interface ChangeBatch {
  readonly changes: readonly Change[];
  /** The log position after the batch, or null if the batch is not the last part of its step. */
  readonly to: Position | null;
}

export interface ChangeFeedOptions {
  readonly log: ChangeLog;
  readonly runtime: Runtime;
  readonly ringLimits: RingBufferLimits;
  /** Takes each batch in order. Afterwards the position of the feed advances. */
  publish(batch: ChangeBatch): MaybePromise<void>;
  /** Called when changes were purged before the feed read them. */
  onHistoryLost(): void;
  /** Called when the database was replaced and cannot be used in this process any more. */
  onReplaced(): void;
}

/**
 * The feed of changes: the only reader of a change log in this process, and the only publisher of
 * its changes. A hint wakes the feed, which then reads until there are no more changes.
 */
export class ChangeFeed {
  /** The latest steps of the log, in memory. */
  readonly ringBuffer: RingBuffer;
  readonly #options: ChangeFeedOptions;
  readonly #stopHints: () => void;
  /** Resolves when the current exclusive work of the feed is done. Null if there is none. */
  #busy: Promise<void> | null = null;
  published = 0;
  #isReading = false;
  #isWanted = false;
  #isClosed = false;
  #failures = 0;
  /** The error that prevents all reads until the process is restarted or the file is restored. */
  #replaced: DatabaseError | null = null;
  #cancelRetry: (() => void) | null = null;

  private constructor(options: ChangeFeedOptions, start: Position) {
    this.#options = options;
    this.ringBuffer = new RingBuffer(options.log, start, options.ringLimits);
    this.#stopHints = options.log.onHint(() => this.wake());
  }

  /** Starts at the current end of the log. */
  static async start(options: ChangeFeedOptions): Promise<ChangeFeed> {
    const feed = new ChangeFeed(options, await options.log.end());
    // Changes may have been committed before the feed received hints.
    feed.wake();
    return feed;
  }

  /** Position up to which all changes were published. */
  get position(): Position {
    return this.ringBuffer.end;
  }

  /** Throws if the database is not the one that was opened. */
  requirePresent(): void {
    if (this.#replaced !== null) throw this.#replaced;
  }

  /** True if the feed has read all changes that it has been notified of. */
  get isIdle(): boolean {
    return !this.#isReading;
  }

  /** Starts a read, because there may be new changes. Never rejects and never waits. */
  wake(): void {
    this.#isWanted = true;
    if (!this.#isReading && this.#cancelRetry === null) void this.#read();
  }

  /** Publishes all changes up to a position. Returns false if the feed never reaches it. */
  async readUpTo(position: Position): Promise<boolean> {
    for (let tries = 0; tries < maxTries; tries++) {
      if (this.#options.log.includes(this.position, position)) return true;
      if (this.#isClosed) return false;
      await this.#exclusively(() => this.#publishNext());
    }
    return this.#options.log.includes(this.position, position);
  }

  /**
   * Starts a read if the log ends before a published position, which shows that the database was
   * restored. Otherwise a reader would repeat the same read until the next check of the feed.
   */
  async expect(published: Position, end: Position): Promise<void> {
    if (this.#isClosed || this.#options.log.includes(end, published)) return;
    await this.#exclusively(() => this.#publishNext());
  }

  /** Runs `work` while the feed publishes nothing, so that the position does not change. */
  whilePaused<T>(work: () => MaybePromise<T>): Promise<T> {
    return this.#exclusively(work);
  }

  close(): void {
    this.#isClosed = true;
    this.#stopHints();
    this.#cancelRetry?.();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#isWanted && !this.#isClosed) {
        this.#isWanted = false;
        // A hint during the read may concern changes after the last step.
        while (
          await this.#exclusively(() => this.#publishNext())
        ) { /* until there are no new changes */ }
      }
      this.#failures = 0;
      this.#replaced = null;
    } catch (error) {
      this.#retryLater(error);
    } finally {
      this.#isReading = false;
    }
  }

  /** Publishes one complete step. Returns true if the step had changes. */
  async #publishNext(): Promise<boolean> {
    if (this.#isClosed) return false;
    const { log, publish, onHistoryLost: lost, ringLimits } = this.#options;
    const changes: Change[] = [];
    let count = 0;
    let bytes = 0;
    let from: Position | ChangeLogStep = this.position;
    while (true) {
      const step: ChangeLogStep | null = await log.next(from);
      if (this.#isClosed) return false;
      if (step === null) {
        this.ringBuffer.restart(await log.end());
        lost();
        return true;
      }
      const part = orderByTransaction(step.changes);
      count += part.length;
      for (const { sizeBytes } of part) bytes += sizeBytes;
      this.published += part.length;
      if (count > 0) await publish({ changes: part, to: step.to });
      // A step that is too large for memory remains only in the log, as do all steps before it.
      const isHeld = count <= ringLimits.changes && bytes <= ringLimits.bytes;
      if (isHeld) changes.push(...part);
      if (step.to !== null) {
        if (isHeld) this.ringBuffer.push({ changes, to: step.to });
        else this.ringBuffer.restart(step.to);
        return count > 0;
      }
      from = step;
    }
  }

  #retryLater(error: unknown): void {
    if (this.#isClosed) return;
    const { runtime: { observe, clock }, onReplaced } = this.#options;
    if (error instanceof DatabaseError && error.kind === "replaced") {
      this.#replaced = error;
      onReplaced();
    }
    const retryInMs = Math.min(firstRetryMs * 2 ** this.#failures++, maxRetryMs);
    observe({ kind: "changes_unread", error, retryInMs });
    this.#cancelRetry = clock.after(retryInMs, () => {
      this.#cancelRetry = null;
      this.wake();
    });
  }

  async #exclusively<T>(work: () => MaybePromise<T>): Promise<T> {
    while (this.#busy !== null) await this.#busy;
    const done = Promise.withResolvers<void>();
    this.#busy = done.promise;
    try {
      return await work();
    } finally {
      this.#busy = null;
      done.resolve();
    }
  }
}

const firstRetryMs = 100;
const maxRetryMs = 5_000;

/** The maximum number of reads until a position is reached. Usually one read is enough. */
const maxTries = 5;

import { DatabaseError } from "../../db/database_error.ts";
import type { Change, ChangeLog, ChangeLogStep } from "../../db/changes/change_log.ts";
import { coversPosition, type Position } from "../../db/changes/log_position.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { orderByTransaction, RingBuffer, type RingBufferLimits } from "./change_history.ts";

/** A batch of the change feed: the changes of one read of the log (a step), or a part of them. */
export interface ChangeBatch {
  readonly changes: readonly Change[];
  readonly to: Position | null;
}

export interface ChangeFeedOptions {
  readonly log: ChangeLog;
  readonly runtime: Runtime;
  readonly ringLimits: RingBufferLimits;
  /** Publishes a batch. When the promise resolves, the feed's position advances. */
  publish(batch: ChangeBatch): MaybePromise<void>;
  onHistoryLost(): void;
  /** Called when the database was replaced and cannot be used in this process any more. */
  onReplaced(): void;
}

/** The only reader of a change log in this process. Hints of new changes wake the feed. */
export class ChangeFeed {
  readonly ringBuffer: RingBuffer;
  readonly #options: ChangeFeedOptions;
  readonly #stopHints: () => void;
  #busy: Promise<void> | null = null;
  published = 0;
  #isReading = false;
  #isWanted = false;
  #isClosed = false;
  #failures = 0;
  /** Set after the database was replaced, until a read succeeds again. */
  #replaced: DatabaseError | null = null;
  #cancelRetry: (() => void) | null = null;

  private constructor(options: ChangeFeedOptions, start: Position) {
    this.#options = options;
    this.ringBuffer = new RingBuffer(start, options.ringLimits);
    this.#stopHints = options.log.onHint(() => this.wake());
  }

  static async start(options: ChangeFeedOptions): Promise<ChangeFeed> {
    const feed = new ChangeFeed(options, await options.log.end());
    // Reads changes that were committed after `end()` read the log, but before hints arrived.
    feed.wake();
    return feed;
  }

  get position(): Position {
    return this.ringBuffer.end;
  }

  requirePresent(): void {
    if (this.#replaced !== null) throw this.#replaced;
  }

  /** True if the feed is not reading. It has then published all known changes, or a read failed. */
  get isIdle(): boolean {
    return !this.#isReading;
  }

  /** Makes the feed read soon, because there may be new changes. Never throws and never waits. */
  wake(): void {
    this.#isWanted = true;
    if (!this.#isReading && this.#cancelRetry === null) void this.#read();
  }

  async readUpTo(position: Position): Promise<boolean> {
    for (let tries = 0; tries < maxTries; tries++) {
      if (coversPosition(this.position, position)) return true;
      if (this.#isClosed) return false;
      await this.#exclusively(() => this.#publishNext());
    }
    return coversPosition(this.position, position);
  }

  /** Reads the log if its `end` precedes a published position, e.g. after a restored backup. */
  async expect(published: Position, end: Position): Promise<void> {
    if (this.#isClosed || coversPosition(end, published)) return;
    await this.#exclusively(() => this.#publishNext());
  }

  /** Runs `work` while the feed publishes nothing, so that its position does not change. */
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
        // A hint may arrive after the loop's last read, so the outer loop then reads again.
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
      // A log read that is too large empties the buffer, because the buffer must have no gaps.
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

/** Maximum number of reads of the log to reach a position. Usually one read suffices. */
const maxTries = 5;

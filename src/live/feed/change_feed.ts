import type { Change, ChangeLog, Position, Step } from "../../db/changes/change_log.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { orderByTransaction } from "./order_by_transaction.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { RingBuffer, type RingBufferLimits } from "./ring_buffer.ts";

/** A step of the log on its way to the subscribers, or a part of a large one. */
export interface ChangeBatch {
  readonly changes: readonly Change[];
  /** Where one stands behind it; null where more parts of the step follow. */
  readonly to: Position | null;
}

/** What a feed feeds, and how it reports. */
export interface ChangeFeedOptions {
  readonly log: ChangeLog;
  readonly runtime: Runtime;
  readonly ringLimits: RingBufferLimits;
  /** Takes each tick, in order. The feed's position moves once it is done. */
  publish(tick: ChangeBatch): MaybePromise<void>;
  /** History ended before it was read: nobody knows what has changed. */
  onHistoryLost(): void;
}

/**
 * The one reader of a log in this process, and the only publisher of what is in it. Hints make it
 * look; it reads until there is nothing more.
 */
export class ChangeFeed {
  /** The last steps. */
  readonly ringBuffer: RingBuffer;
  readonly #options: ChangeFeedOptions;
  readonly #stopHints: () => void;
  /** Resolves when whoever keeps the feed to itself is done. */
  #busy: Promise<void> | null = null;
  #isReading = false;
  #isWanted = false;
  #isClosed = false;
  #failures = 0;
  #cancelRetry: (() => void) | null = null;

  private constructor(options: ChangeFeedOptions, start: Position) {
    this.#options = options;
    this.ringBuffer = new RingBuffer(options.log, start, options.ringLimits);
    this.#stopHints = options.log.onHint(() => this.wake());
  }

  /** Begins where the log ends now. */
  static async start(options: ChangeFeedOptions): Promise<ChangeFeed> {
    const feed = new ChangeFeed(options, await options.log.end());
    // What was committed before hints could come.
    feed.wake();
    return feed;
  }

  /** Everything that it covers was published. */
  get position(): Position {
    return this.ringBuffer.end;
  }

  /** Whether there is nothing left to read, as far as it knows. */
  get isIdle(): boolean {
    return !this.#isReading;
  }

  /** There may be something new. Never rejects, and never waits. */
  wake(): void {
    this.#isWanted = true;
    if (!this.#isReading && this.#cancelRetry === null) void this.#read();
  }

  /** Reads until it covers a position; false where it cannot get there. */
  async readUpTo(position: Position): Promise<boolean> {
    for (let tries = 0; tries < maxTries; tries++) {
      if (this.#options.log.includes(this.position, position)) return true;
      if (this.#isClosed) return false;
      await this.#exclusively(() => this.#publishNext());
    }
    return this.#options.log.includes(this.position, position);
  }

  /** Runs `work` while nothing is being published: what it sees as the position stays that. */
  whilePaused<T>(work: () => MaybePromise<T>): Promise<T> {
    return this.#exclusively(work);
  }

  /** Reads nothing more. */
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
        // Hints that come meanwhile are for what may follow the last step read.
        while (await this.#exclusively(() => this.#publishNext())) { /* until nothing is new */ }
      }
      this.#failures = 0;
    } catch (error) {
      this.#retryLater(error);
    } finally {
      this.#isReading = false;
    }
  }

  /** One whole step; answers whether there was anything in it. */
  async #publishNext(): Promise<boolean> {
    if (this.#isClosed) return false;
    const { log, publish, onHistoryLost: lost, ringLimits } = this.#options;
    const changes: Change[] = [];
    let count = 0;
    let bytes = 0;
    let from: Position | Step = this.position;
    while (true) {
      const step: Step | null = await log.next(from);
      if (this.#isClosed) return false;
      if (step === null) {
        this.ringBuffer.restart(await log.end());
        lost();
        return true;
      }
      const part = orderByTransaction(step.changes);
      count += part.length;
      for (const { sizeBytes } of part) bytes += sizeBytes;
      if (count > 0) await publish({ changes: part, to: step.to });
      // A step that memory could not hold is left in the log, and all before it with it.
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
    const { observe, clock } = this.#options.runtime;
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

/** One is enough where a database keeps its order; a few more are no harm. */
const maxTries = 5;

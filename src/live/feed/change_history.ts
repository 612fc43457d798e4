import type { Change, ChangeLog, ChangeLogStep } from "../../db/changes/change_log.ts";
import { type Position, positionAfter } from "../../db/changes/log_position.ts";
import { orderByTransaction } from "./order_by_transaction.ts";
import { Semaphore } from "../../runtime/queues/semaphore.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { RingBuffer, RingBufferEntry } from "./ring_buffer.ts";

/** The position in the history of changes of a stream that is not live. */
export interface HistoryCursor {
  /** Position up to which all changes were read. */
  readonly position: Position;
  /** Place within a step, in the ring buffer or in the log; null between steps. */
  readonly within: PositionInRing | ChangeLogStep | null;
}

interface PositionInRing {
  readonly entry: number;
  readonly offset: number;
  /** The log position at this place, or null if there is no position within the step. */
  readonly position: Position | null;
}

/** The next part of the history of changes after a cursor. */
export interface HistoryWindow {
  readonly changes: readonly Change[];
  readonly cursor: HistoryCursor;
  /** True if there are currently no more changes. */
  readonly isEnd: boolean;
  /** True if the window restarts a step of which a part was read before. */
  readonly isRepeated: boolean;
}

/** Approximate limits of one read of the history, which reads at least one change. */
export interface WindowLimits {
  readonly changes: number;
  /** The limit of the row images, in bytes. */
  readonly bytes: number;
}

/** Limits that allow a window of all changes in memory. */
export const unlimitedWindow: WindowLimits = Object.freeze({ changes: Infinity, bytes: Infinity });

/** Returns the cursor at a position, which is always the end of a step of the log. */
export function historyCursorAt(position: Position): HistoryCursor {
  return { position, within: null };
}

/** The history of changes after a position, read from memory if possible, else from the log. */
export class ChangeHistory {
  readonly #log: ChangeLog;
  readonly #ringBuffer: RingBuffer;
  readonly #semaphore = new Semaphore(maxReadsAtOnce);

  /** The log and the buffer belong to the feed. */
  constructor(log: ChangeLog, ringBuffer: RingBuffer) {
    this.#log = log;
    this.#ringBuffer = ringBuffer;
  }

  /** Returns the changes after a cursor, or null if they are purged or together too large. */
  read(cursor: HistoryCursor, max: WindowLimits): MaybePromise<HistoryWindow | null> {
    return this.readFromMemory(cursor, max) ?? this.#readFromLog(cursor, max);
  }

  /** Returns changes from memory only, or null if memory no longer contains them. */
  readFromMemory({ position, within }: HistoryCursor, max: WindowLimits): HistoryWindow | null {
    const isInLog = within !== null && "changes" in within;
    const start = within === null || isInLog ? this.#ringBuffer.find(position) : within.entry;
    if (start === null || isInLog) return null;
    let number = start;
    let offset = within?.offset ?? 0;
    let reached = position;
    let bytes = 0;
    const changes: Change[] = [];
    const isFull = () => changes.length >= max.changes || bytes >= max.bytes;
    for (; number < this.#ringBuffer.next; number++, offset = 0) {
      const entry = this.#ringBuffer.at(number);
      // The entry was dropped while its step was being read. The log then restarts the step.
      if (entry === undefined) return null;
      for (; offset < entry.changes.length && !isFull(); offset++) {
        const change = entry.changes[offset];
        if (change === undefined || this.#log.covers(position, change)) continue;
        changes.push(change);
        bytes += change.sizeBytes;
      }
      if (offset < entry.changes.length) {
        return {
          changes,
          cursor: {
            position: reached,
            within: { entry: number, offset, position: positionWithin(entry, offset, reached) },
          },
          isEnd: false,
          isRepeated: false,
        };
      }
      reached = this.#later(entry.to, reached);
      if (isFull() && number + 1 < this.#ringBuffer.next) {
        return { changes, cursor: historyCursorAt(reached), isEnd: false, isRepeated: false };
      }
    }
    const cursor = historyCursorAt(this.#later(this.#ringBuffer.end, reached));
    return { changes, cursor, isEnd: true, isRepeated: false };
  }

  async #readFromLog(
    { position, within }: HistoryCursor,
    max: WindowLimits,
  ): Promise<HistoryWindow | null> {
    const part = within !== null && "changes" in within ? within : null;
    const exact = within !== null && "entry" in within ? within.position : position;
    // The semaphore limits memory: a step has up to 16 MiB, and many streams may lag.
    const step = await this.#semaphore.run(() => this.#log.next(part ?? exact ?? position));
    if (step === null) return null;
    const { changes, to } = step;
    const fitting = fittingIn(max.bytes, changes);
    const last = changes[fitting - 1];
    if (fitting < changes.length && last !== undefined) {
      const reached = positionAfter(exact ?? position, last);
      if (reached !== null) {
        return {
          changes: changes.slice(0, fitting),
          cursor: historyCursorAt(reached),
          isEnd: false,
          isRepeated: false,
        };
      }
      // Without a position in the step, the whole step would stay in memory for a slow client.
      if (fittingIn(maxWindows * max.bytes, changes) < changes.length) return null;
    }
    return {
      changes: orderByTransaction(changes),
      cursor: to === null ? { position: exact ?? position, within: step } : historyCursorAt(to),
      // After a read with the maximum number of changes, more changes might remain.
      isEnd: to !== null && changes.length < max.changes,
      isRepeated: exact === null,
    };
  }

  /** Returns the later position. A reader that received a page may be ahead of the ring buffer. */
  #later(next: Position, reached: Position): Position {
    return this.#log.includes(next, reached) ? next : reached;
  }
}

const maxReadsAtOnce = 2;

/** The limit of the bytes of a step that cannot be sent in parts, as a number of windows. */
const maxWindows = 4;

/** Returns how many of the changes fit into this many bytes; at least one. */
function fittingIn(maxBytes: number, changes: readonly Change[]): number {
  let bytes = 0;
  for (const [index, { sizeBytes }] of changes.entries()) {
    bytes += sizeBytes;
    if (bytes > maxBytes && index > 0) return index;
  }
  return changes.length;
}

function positionWithin(
  { changes }: RingBufferEntry,
  offset: number,
  reached: Position,
): Position | null {
  const last = changes[offset - 1];
  return last === undefined ? reached : positionAfter(reached, last);
}

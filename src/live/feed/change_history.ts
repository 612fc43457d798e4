import type { Change, ChangeLog, Position, Step } from "../../db/changes/change_log.ts";
import { positionAfter } from "../../db/changes/log_position.ts";
import { orderByTransaction } from "./order_by_transaction.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { RingBuffer, RingBufferEntry } from "./ring_buffer.ts";

/** How far somebody has read who does not read live. */
export interface HistoryCursor {
  /** Everything that it covers was read. */
  readonly position: Position;
  /** Where a step was left in the middle: in the ring by its place, in the log by its part. */
  readonly within: PositionInRing | Step | null;
}

interface PositionInRing {
  readonly entry: number;
  readonly offset: number;
  /** The same as a position, where one can stand in the middle of a step. */
  readonly position: Position | null;
}

/** The next changes behind a cursor. */
export interface HistoryWindow {
  readonly changes: readonly Change[];
  readonly cursor: HistoryCursor;
  /** Whether this is all that there is now. */
  readonly isEnd: boolean;
  /** Whether it begins a step again of which a part was read before. */
  readonly isRepeated: boolean;
}

/** A cursor between steps. */
export function cursorAt(position: Position): HistoryCursor {
  return { position, within: null };
}

/** What happened after a position: from memory where it reaches back so far, else from the log. */
export class ChangeHistory {
  readonly #log: ChangeLog;
  readonly #ringBuffer: RingBuffer;

  /** Both are the feed's. */
  constructor(log: ChangeLog, ringBuffer: RingBuffer) {
    this.#log = log;
    this.#ringBuffer = ringBuffer;
  }

  /** About `most` changes behind a cursor, in order; null where they are forgotten. */
  read(cursor: HistoryCursor, most: number): MaybePromise<HistoryWindow | null> {
    return this.readFromMemory(cursor, most) ?? this.#readFromLog(cursor, most);
  }

  /** The same from memory alone; null where it does not reach back so far. */
  readFromMemory({ position, within }: HistoryCursor, most: number): HistoryWindow | null {
    const isInLog = within !== null && "changes" in within;
    const start = within === null || isInLog ? this.#ringBuffer.find(position) : within.entry;
    if (start === null || isInLog) return null;
    let number = start;
    let offset = within?.offset ?? 0;
    let reached = position;
    const changes: Change[] = [];
    for (; number < this.#ringBuffer.next; number++, offset = 0) {
      const entry = this.#ringBuffer.at(number);
      // It was forgotten while the reader stood in the middle of it: the log begins it again.
      if (entry === undefined) return null;
      for (; offset < entry.changes.length && changes.length < most; offset++) {
        const change = entry.changes[offset];
        if (change !== undefined && !this.#log.covers(position, change)) changes.push(change);
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
      if (changes.length >= most && number + 1 < this.#ringBuffer.next) {
        return { changes, cursor: cursorAt(reached), isEnd: false, isRepeated: false };
      }
    }
    const cursor = cursorAt(this.#later(this.#ringBuffer.end, reached));
    return { changes, cursor, isEnd: true, isRepeated: false };
  }

  async #readFromLog(
    { position, within }: HistoryCursor,
    most: number,
  ): Promise<HistoryWindow | null> {
    const part = within !== null && "changes" in within ? within : null;
    const exact = within !== null && "entry" in within ? within.position : position;
    const step = await this.#log.next(part ?? exact ?? position);
    if (step === null) return null;
    const { changes, to } = step;
    return {
      changes: orderByTransaction(changes),
      cursor: to === null ? { position: exact ?? position, within: step } : cursorAt(to),
      // A log gives what it has, up to some number. Who joins the live readers looks once more.
      isEnd: to !== null && changes.length < most,
      isRepeated: exact === null,
    };
  }

  /** A reader may stand further than memory ends: a page tells of what the feed has yet to read. */
  #later(next: Position, reached: Position): Position {
    return this.#log.includes(next, reached) ? next : reached;
  }
}

function positionWithin(
  { changes }: RingBufferEntry,
  offset: number,
  reached: Position,
): Position | null {
  const last = changes[offset - 1];
  return last === undefined ? reached : positionAfter(reached, last);
}

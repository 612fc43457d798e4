import type { Change, ChangeLog, ChangeLogStep } from "../../db/changes/change_log.ts";
import {
  coversChange,
  coversPosition,
  type Position,
  positionAfter,
} from "../../db/changes/log_position.ts";
import { Semaphore } from "../../runtime/queues/semaphore.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";

/** How far a stream that still catches up has read the history of changes. */
export interface HistoryCursor {
  readonly position: Position;
  /** Place inside the changes of one log read (a step), in buffer or log; null at their end. */
  readonly within: PositionInRing | ChangeLogStep | null;
}

interface PositionInRing {
  readonly entry: number;
  readonly offset: number;
  /** The log position at this place; null if the log has none between changes of one read. */
  readonly position: Position | null;
}

export interface HistoryWindow {
  readonly changes: readonly Change[];
  readonly cursor: HistoryCursor;
  readonly isEnd: boolean;
  /** True if the window can repeat changes that the previous windows already contained. */
  readonly isRepeated: boolean;
}

/** Approximate limits of one read of the history. Each read returns at least one change, if any. */
export interface WindowLimits {
  readonly changes: number;
  readonly bytes: number;
}

/** No limits, for streams that must send all changes of one log read together. */
export const unlimitedWindow: WindowLimits = Object.freeze({ changes: Infinity, bytes: Infinity });

export function historyCursorAt(position: Position): HistoryCursor {
  return { position, within: null };
}

export class ChangeHistory {
  readonly #log: ChangeLog;
  readonly #ringBuffer: RingBuffer;
  readonly #semaphore = new Semaphore(maxReadsAtOnce);

  constructor(log: ChangeLog, ringBuffer: RingBuffer) {
    this.#log = log;
    this.#ringBuffer = ringBuffer;
  }

  /** Returns the changes after a cursor, or null if they were purged or are too large to send. */
  read(cursor: HistoryCursor, max: WindowLimits): MaybePromise<HistoryWindow | null> {
    return this.readFromMemory(cursor, max) ?? this.#readFromLog(cursor, max);
  }

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
      // The buffer has dropped these changes after a part was read. `read` gets them from the log.
      if (entry === undefined) return null;
      for (; offset < entry.changes.length && !isFull(); offset++) {
        const change = entry.changes[offset];
        if (change === undefined || coversChange(position, change)) continue;
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
    // The semaphore limits memory: a log read can have 16 MiB, and many streams can read the log.
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
      // The stream cannot pause inside this log read, so all of its changes would stay in memory.
      if (fittingIn(maxWindows * max.bytes, changes) < changes.length) return null;
    }
    return {
      changes: orderByTransaction(changes),
      cursor: to === null ? { position: exact ?? position, within: step } : historyCursorAt(to),
      // If the log returned its maximum number of changes, there may be more.
      isEnd: to !== null && changes.length < max.changes,
      isRepeated: exact === null,
    };
  }

  /** Returns the later position: a page that the stream has read can be newer than the buffer. */
  #later(next: Position, reached: Position): Position {
    return coversPosition(next, reached) ? next : reached;
  }
}

const maxReadsAtOnce = 2;

/** Maximum size of a log read that cannot be split, as a multiple of the window's size. */
const maxWindows = 4;

/** Returns the number of changes from the start that fit into `maxBytes` together, at least one. */
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

interface RingBufferEntry {
  readonly changes: readonly Change[];
  readonly to: Position;
}

export interface RingBufferLimits {
  readonly changes: number;
  readonly bytes: number;
}

/** The changes of the last log reads, in memory, for streams that lag only a little. */
export class RingBuffer {
  readonly #limits: RingBufferLimits;
  #entries: RingBufferEntry[] = [];
  /** The number of the first entry in the buffer. Entries are numbered in order, without reuse. */
  #first = 0;
  #changes = 0;
  #bytes = 0;
  #start: Position;
  #end: Position;

  constructor(start: Position, limits: RingBufferLimits) {
    this.#limits = limits;
    this.#start = start;
    this.#end = start;
  }

  get end(): Position {
    return this.#end;
  }

  get next(): number {
    return this.#first + this.#entries.length;
  }

  restart(start: Position): void {
    this.#first = this.next;
    this.#entries = [];
    this.#changes = 0;
    this.#bytes = 0;
    this.#start = start;
    this.#end = start;
  }

  push(entry: RingBufferEntry): void {
    this.#end = entry.to;
    if (entry.changes.length === 0) return;
    this.#entries.push(entry);
    this.#changes += entry.changes.length;
    this.#bytes += sizeOf(entry);
    this.#dropOldest();
  }

  at(number: number): RingBufferEntry | undefined {
    return this.#entries[number - this.#first];
  }

  find(position: Position): number | null {
    if (!coversPosition(position, this.#start)) return null;
    let low = 0;
    for (let high = this.#entries.length; low < high;) {
      const middle = (low + high) >> 1;
      const entry = this.#entries[middle];
      if (entry !== undefined && coversPosition(position, entry.to)) low = middle + 1;
      else high = middle;
    }
    return this.#first + low;
  }

  #dropOldest(): void {
    const { changes, bytes } = this.#limits;
    let dropped = 0;
    while (this.#changes > changes || this.#bytes > bytes) {
      const entry = this.#entries[dropped++];
      if (entry === undefined) break;
      this.#changes -= entry.changes.length;
      this.#bytes -= sizeOf(entry);
      this.#start = entry.to;
    }
    if (dropped === 0) return;
    this.#entries.splice(0, dropped);
    this.#first += dropped;
  }
}

function sizeOf({ changes }: RingBufferEntry): number {
  return changes.reduce((sum, change) => sum + change.sizeBytes, 0);
}

/**
 * Puts each transaction's changes together, ordered by its highest `seq`. A row's changes keep
 * their order: the next transaction that changes a row waits for the earlier commit.
 */
export function orderByTransaction(changes: readonly Change[]): readonly Change[] {
  const lastSeqs = new Map<bigint, number>();
  for (const { transaction, seq } of changes) {
    // A log without transaction ids is already in the order of transactions.
    if (transaction === null) return changes;
    lastSeqs.set(transaction, Math.max(seq, lastSeqs.get(transaction) ?? 0));
  }
  if (lastSeqs.size < 2) return changes;
  const rank = ({ transaction }: Change) => lastSeqs.get(transaction ?? 0n) ?? 0;
  return changes.toSorted((left, right) => rank(left) - rank(right) || left.seq - right.seq);
}

import type { Change } from "../../db/changes/change_log.ts";
import { coversPosition, type Position } from "../../db/changes/log_position.ts";

/** An entry of the ring buffer: one complete step of the log. */
export interface RingBufferEntry {
  readonly changes: readonly Change[];
  readonly to: Position;
}

export interface RingBufferLimits {
  readonly changes: number;
  /** Limit of the total size of the row images (rows before and after changes), in bytes. */
  readonly bytes: number;
}

/** The last steps of the log in memory. A stream that lags only a little needs no query. */
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

  /** The log position after the last step. */
  get end(): Position {
    return this.#end;
  }

  get next(): number {
    return this.#first + this.#entries.length;
  }

  /** Drops all entries. The next entry will contain the changes after `start`. */
  restart(start: Position): void {
    this.#first = this.next;
    this.#entries = [];
    this.#changes = 0;
    this.#bytes = 0;
    this.#start = start;
    this.#end = start;
  }

  /** Adds a step. A step without changes only moves the end of the buffer. */
  push(entry: RingBufferEntry): void {
    this.#end = entry.to;
    if (entry.changes.length === 0) return;
    this.#entries.push(entry);
    this.#changes += entry.changes.length;
    this.#bytes += sizeOf(entry);
    this.#dropOldest();
  }

  /** Returns the entry with this number; undefined if it was dropped or does not exist yet. */
  at(number: number): RingBufferEntry | undefined {
    return this.#entries[number - this.#first];
  }

  /** Returns the number of the first entry after a position; null if such entries were dropped. */
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

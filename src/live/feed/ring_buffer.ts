import type { Change, ChangeLog, Position } from "../../db/changes/change_log.ts";

/** One step of the log, whole. */
export interface RingBufferEntry {
  readonly changes: readonly Change[];
  /** Where one stands behind it. */
  readonly to: Position;
}

/** How much is remembered at most. */
export interface RingBufferLimits {
  readonly changes: number;
  /** Of their images. */
  readonly bytes: number;
}

/** The last steps, so that whoever was away for a moment costs the database nothing. */
export class RingBuffer {
  readonly #log: ChangeLog;
  readonly #limits: RingBufferLimits;
  #entries: RingBufferEntry[] = [];
  /** The number of the first entry; numbers go on for ever. */
  #first = 0;
  #changes = 0;
  #bytes = 0;
  #start: Position;
  #end: Position;

  /** Remembers what comes after `start`. */
  constructor(log: ChangeLog, start: Position, limits: RingBufferLimits) {
    this.#log = log;
    this.#limits = limits;
    this.#start = start;
    this.#end = start;
  }

  /** Where the last step ended. */
  get end(): Position {
    return this.#end;
  }

  /** The number behind the last entry. */
  get next(): number {
    return this.#first + this.#entries.length;
  }

  /** Nothing of before counts any more. */
  restart(start: Position): void {
    this.#first = this.next;
    this.#entries = [];
    this.#changes = 0;
    this.#bytes = 0;
    this.#start = start;
    this.#end = start;
  }

  /** One more step; without changes it only moves the end. */
  push(entry: RingBufferEntry): void {
    this.#end = entry.to;
    if (entry.changes.length === 0) return;
    this.#entries.push(entry);
    this.#changes += entry.changes.length;
    this.#bytes += sizeOf(entry);
    this.#forget();
  }

  /** The entry of a number; undefined once it is forgotten, and at the end. */
  at(number: number): RingBufferEntry | undefined {
    return this.#entries[number - this.#first];
  }

  /** The number of the first entry that a position does not cover; null where it is forgotten. */
  find(position: Position): number | null {
    if (!this.#log.includes(position, this.#start)) return null;
    let low = 0;
    for (let high = this.#entries.length; low < high;) {
      const middle = (low + high) >> 1;
      const entry = this.#entries[middle];
      if (entry !== undefined && this.#log.includes(position, entry.to)) low = middle + 1;
      else high = middle;
    }
    return this.#first + low;
  }

  #forget(): void {
    const { changes, bytes } = this.#limits;
    let gone = 0;
    while (this.#changes > changes || this.#bytes > bytes) {
      const entry = this.#entries[gone++];
      if (entry === undefined) break;
      this.#changes -= entry.changes.length;
      this.#bytes -= sizeOf(entry);
      this.#start = entry.to;
    }
    if (gone === 0) return;
    this.#entries.splice(0, gone);
    this.#first += gone;
  }
}

function sizeOf({ changes }: RingBufferEntry): number {
  return changes.reduce((sum, change) => sum + change.sizeBytes, 0);
}

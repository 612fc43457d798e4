import type { RingBufferLimits } from "./feed/ring_buffer.ts";

/** How much is read, remembered and sent at a time. Tests make it small. */
export interface LiveSizes {
  /** Of the steps that memory holds. */
  readonly ringBuffer: RingBufferLimits;
  /** Of a snapshot. */
  readonly rowsPerPage: number;
  /** Pages and aggregates that are read at once. */
  readonly readers: number;
  /** With so many of them waited for, no new stream is let in. */
  readonly maxWaiting: number;
  /** Of one aggregate: of more memory keeps no account. */
  readonly groupsInMemory: number;
  /** Of one filter along relations: of more rows it is not remembered that clients hold them. */
  readonly rowsHeld: number;
  /** After so many events an aggregate is held against the database. */
  readonly eventsUntilCheck: number;
  /** About so many changes are told at once to those who are behind. */
  readonly changesAtOnce: number;
  /** With so many bytes not taken, a client is left behind until it reads on. */
  readonly maxUnreadBytes: number;
}

/** Those of the service. */
export const liveSizes: LiveSizes = Object.freeze({
  ringBuffer: { changes: 20_000, bytes: 16 * 1024 * 1024 },
  rowsPerPage: 500,
  readers: 8,
  maxWaiting: 1_000,
  groupsInMemory: 10_000,
  rowsHeld: 10_000,
  eventsUntilCheck: 10_000,
  changesAtOnce: 500,
  maxUnreadBytes: 64 * 1024,
});

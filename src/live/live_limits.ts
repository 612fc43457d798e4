import type { RingBufferLimits } from "./feed/ring_buffer.ts";

/** How much is read, remembered and sent at a time. Tests make it small. */
export interface LiveLimits {
  /** Of the steps that memory holds. */
  readonly ringBuffer: RingBufferLimits;
  /** Of a snapshot. */
  readonly maxRowsPerPage: number;
  /** Pages and aggregates that are read at once. */
  readonly maxConcurrentReads: number;
  /** With so many of them waited for, no new stream is let in. */
  readonly maxWaitingReads: number;
  /** Of one aggregate: of more memory keeps no account. */
  readonly maxGroupsInMemory: number;
  /** Of one filter along relations: of more rows it is not remembered that clients hold them. */
  readonly maxHeldRows: number;
  /** After so many events an aggregate is held against the database. */
  readonly maxUncheckedEvents: number;
  /** About so many changes are told at once to those who are behind. */
  readonly maxChangesAtOnce: number;
  /** With so many bytes not taken, a client is left behind until it reads on. */
  readonly maxUnreadBytes: number;
}

/** Those of the service. */
export const liveLimits: LiveLimits = Object.freeze({
  ringBuffer: { changes: 20_000, bytes: 16 * 1024 * 1024 },
  maxRowsPerPage: 500,
  maxConcurrentReads: 8,
  maxWaitingReads: 1_000,
  maxGroupsInMemory: 10_000,
  maxHeldRows: 10_000,
  maxUncheckedEvents: 10_000,
  maxChangesAtOnce: 500,
  maxUnreadBytes: 64 * 1024,
});

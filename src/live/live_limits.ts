import type { GroupMemoryLimits } from "./aggregate/group_memory.ts";
import type { RingBufferLimits } from "./feed/ring_buffer.ts";

/**
 * The limits of live streams: how much is read, kept and sent at a time. Tests use smaller limits.
 */
export interface LiveLimits {
  /** For the steps that are kept in memory. */
  readonly ringBuffer: RingBufferLimits;
  /** For the pages of a snapshot. */
  readonly maxRowsPerPage: number;
  /** The pages that are read at once. */
  readonly maxConcurrentReads: number;
  /** The aggregates that are read at once. */
  readonly maxConcurrentAggregates: number;
  /** With so many reads waiting, no new stream is opened. */
  readonly maxWaitingReads: number;
  /** An aggregate with more groups is not maintained in memory. */
  readonly maxGroupsInMemory: number;
  /** Beyond it aggregates are not maintained in memory. */
  readonly groupMemory: GroupMemoryLimits;
  /**
   * About so many bytes are sent at once: a page, the changes that a client has missed, the events of
   * one commit. One row is sent whatever it has; the answer of an aggregate has no more.
   */
  readonly maxEventBytes: number;
  /** One row with more bytes is not sent. */
  readonly maxRowBytes: number;
  /** How long one query may run. */
  readonly queryTimeoutMs: number;
  /** For one filter that reads related rows: which rows clients hold is kept of no more rows. */
  readonly maxHeldRows: number;
  /** After so many transitions an aggregate is compared with the database. */
  readonly maxUncheckedEvents: number;
  /** About so many changes at once are sent to a client that lags. */
  readonly maxChangesAtOnce: number;
  /** With so many unread bytes, a stream is parked until its client reads again. */
  readonly maxUnreadBytes: number;
}

const mebibyte = 1024 * 1024;

/** The limits of live streams in the service. Only the checker of live streams changes them. */
export const liveLimits: LiveLimits = {
  ringBuffer: { changes: 20_000, bytes: 16 * mebibyte },
  maxRowsPerPage: 500,
  maxConcurrentReads: 8,
  maxConcurrentAggregates: 4,
  maxWaitingReads: 1_000,
  maxGroupsInMemory: 10_000,
  groupMemory: { perAggregate: 12 * mebibyte, perIdentity: 32 * mebibyte, inAll: 128 * mebibyte },
  maxEventBytes: mebibyte,
  maxRowBytes: 16 * mebibyte,
  queryTimeoutMs: 5_000,
  maxHeldRows: 10_000,
  maxUncheckedEvents: 10_000,
  maxChangesAtOnce: 500,
  maxUnreadBytes: 64 * 1024,
};

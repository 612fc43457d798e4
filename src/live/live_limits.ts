import type { GroupMemoryLimits } from "./aggregate/group_memory.ts";
import type { RingBufferLimits } from "./feed/ring_buffer.ts";

/** The limits of reads, memory and writes of live streams. Tests use smaller limits. */
export interface LiveLimits {
  /** Limits of the recent changes that are kept in memory. */
  readonly ringBuffer: RingBufferLimits;
  readonly maxRowsPerPage: number;
  /** The maximum number of pages that are read at the same time. */
  readonly maxConcurrentReads: number;
  /** The maximum number of aggregates that are read at the same time. */
  readonly maxConcurrentAggregates: number;
  /** The number of waiting reads at which the service refuses new streams. */
  readonly maxWaitingReads: number;
  readonly maxGroupsInMemory: number;
  readonly groupMemory: GroupMemoryLimits;
  /**
   * The approximate limit for the bytes of one send: a page, the changes that a client has missed,
   * the events of one commit, or the result of an aggregate. A single row may be larger.
   */
  readonly maxEventBytes: number;
  /** Size above which a row is not sent, in bytes. */
  readonly maxRowBytes: number;
  readonly queryTimeoutMs: number;
  /** The maximum number of a client's rows to remember for a filter that reads related rows. */
  readonly maxHeldRows: number;
  /** The number of changed rows after which an aggregate is compared with the database. */
  readonly maxUncheckedEvents: number;
  /** Approximate number of changes sent together to a client that lags. */
  readonly maxChangesAtOnce: number;
  /** The number of unread bytes at which a stream pauses until its client reads again. */
  readonly maxUnreadBytes: number;
}

const mebibyte = 1024 * 1024;

/** The limits of live streams in the service. Only tests of live streams use other limits. */
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

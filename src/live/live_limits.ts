import type { GroupMemoryLimits } from "./aggregate/group_memory.ts";
import type { RingBufferLimits } from "./feed/ring_buffer.ts";

/** The limits of live streams: reads, memory, and bytes that clients have not read. */
export interface LiveLimits {
  /** Limits of the recent changes in memory, from which streams catch up. */
  readonly ringBuffer: RingBufferLimits;
  readonly maxRowsPerPage: number;
  /** The maximum number of pages of rows that streams read at the same time. */
  readonly maxConcurrentReads: number;
  /** The maximum number of aggregate queries that run at the same time. */
  readonly maxConcurrentAggregates: number;
  /** If this many reads wait, the service refuses new streams. */
  readonly maxWaitingReads: number;
  readonly maxGroupsInMemory: number;
  readonly groupMemory: GroupMemoryLimits;
  /**
   * The approximate limit of bytes sent together: a page, the changes that a client has missed, the
   * events of one commit, or an aggregate's result. A single row may be larger.
   */
  readonly maxEventBytes: number;
  /** Maximum size of one row in bytes. The service does not send larger rows. */
  readonly maxRowBytes: number;
  readonly queryTimeoutMs: number;
  /** The maximum number of held rows to record for a stream whose filter reads related rows. */
  readonly maxHeldRows: number;
  /** After this many row changes, an aggregate in memory is compared with the database. */
  readonly maxUncheckedEvents: number;
  /** Approximate number of missed changes that are sent together to a client that lags. */
  readonly maxChangesAtOnce: number;
  /** If the client has not read this many bytes, the stream pauses until the client reads again. */
  readonly maxUnreadBytes: number;
}

const mebibyte = 1024 * 1024;

/** The limits of all services. Only tests of live streams use other limits. */
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

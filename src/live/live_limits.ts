const mebibyte = 1024 * 1024;

/** The limits of live streams: reads, memory and unread bytes. Only tests use other limits. */
export const liveLimits = {
  ringBuffer: { changes: 20_000, bytes: 16 * mebibyte },
  maxRowsPerPage: 500,
  maxConcurrentReads: 8,
  maxConcurrentAggregates: 4,
  /** The service refuses a new stream if this many reads already wait. */
  maxWaitingReads: 1_000,
  maxGroupsInMemory: 10_000,
  groupMemory: { perAggregate: 12 * mebibyte, perIdentity: 32 * mebibyte, inAll: 128 * mebibyte },
  /** Approximate limit of a page, a batch of events or a result. A single row may be larger. */
  maxEventBytes: mebibyte,
  maxRowBytes: 16 * mebibyte,
  queryTimeoutMs: 5_000,
  maxHeldRows: 10_000,
  /** After this many row changes, an aggregate in memory is compared with the database. */
  maxUncheckedEvents: 10_000,
  /** Approximate number of missed changes that are sent together to a client that lags. */
  maxChangesAtOnce: 500,
  /** When this many bytes wait for the client, the stream pauses until the client reads again. */
  maxUnreadBytes: 64 * 1024,
};

export type LiveLimits = Readonly<typeof liveLimits>;

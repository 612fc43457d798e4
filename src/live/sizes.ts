import type { RingLimits } from "./ring.ts";

/** How much is read, remembered and sent at a time. Tests make it small. */
export interface LiveSizes {
  /** Of the steps that memory holds. */
  readonly ring: RingLimits;
  /** Of a snapshot. */
  readonly rowsPerPage: number;
  /** Pages that are read at once. */
  readonly pageReaders: number;
  /** With so many pages waited for, no new stream is let in. */
  readonly mostWaitingPages: number;
  /** About so many changes are told at once to those who are behind. */
  readonly changesAtOnce: number;
  /** With so many bytes not taken, a client is left behind until it reads on. */
  readonly mostUnreadBytes: number;
}

/** Those of the service. */
export const liveSizes: LiveSizes = Object.freeze({
  ring: { changes: 20_000, bytes: 16 * 1024 * 1024 },
  rowsPerPage: 500,
  pageReaders: 8,
  mostWaitingPages: 1_000,
  changesAtOnce: 500,
  mostUnreadBytes: 64 * 1024,
});

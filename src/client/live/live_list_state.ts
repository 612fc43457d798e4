import type { ServiceError } from "../request/service_error.ts";
import type { LiveRow, LiveStatus } from "./live_messages.ts";

/** The state of a live list: a new object after each change. */
export interface LiveListState<Row = LiveRow> {
  /** Rows in the order of `orderBy`. */
  readonly items: readonly (Row & LiveMarks)[];
  /** Status of the stream, which says how current the rows are. */
  readonly status: LiveStatus;
  /** Number of unconfirmed writes that the list shows. */
  readonly pending: number;
  /**
   * The reason for `limited`, `needs-auth`, `closed` or `stale`, or null if the service sent none.
   */
  readonly error: ServiceError | null;
}

/** Members that a live list adds to its rows. */
export interface LiveMarks {
  /** Tag of the row, if the resource has tags. */
  readonly _etag?: string;
  /** Present if an unconfirmed write has created or changed the row. */
  readonly _pending?: true;
  /** Present until the row is created. It names the row in further writes. */
  readonly _new?: NewRow;
}

/** A row that an outbox will create. */
export interface NewRow {
  /** Id of the write that creates the row. */
  readonly id: string;
}

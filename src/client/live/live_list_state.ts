import type { ServiceError } from "../request/service_error.ts";
import type { LiveRow, LiveStatus } from "./live_messages.ts";

/** The state of a live list. Each change creates a new object. */
export interface LiveListState<Row = LiveRow> {
  /** The rows in the order of `orderBy`. */
  readonly items: readonly (Row & LiveMarks)[];
  /** The status of the stream. The rows are current while the status is `live`. */
  readonly status: LiveStatus;
  /** The number of unconfirmed writes that the list shows. */
  readonly pending: number;
  /** The reason for `limited`, `needs-auth`, `closed` or `stale`, or null without a reason. */
  readonly error: ServiceError | null;
}

/** Members that a live list adds to its rows. */
export interface LiveMarks {
  /** The tag of the row. Absent if the resource has no tags. */
  readonly _etag?: string;
  /** Present if an unconfirmed write has created or changed the row. */
  readonly _pending?: true;
  /** Present until the service has created the row. Further writes name the row by this value. */
  readonly _new?: NewRow;
}

/** A reference to a row that an outbox will create. */
export interface NewRow {
  /** The id of the write that creates the row. */
  readonly id: string;
}

import type { ServiceError } from "../request/service_error.ts";
import type { LiveRow, LiveStatus } from "./live_messages.ts";

/** The state of a live list. Each change of the list creates a new state object. */
export interface LiveListState<Row = LiveRow> {
  /** The rows in the order of `orderBy`. */
  readonly items: readonly (Row & LiveMarks)[];
  /** The status of the stream. The rows are current while the status is `live`. */
  readonly status: LiveStatus;
  /** The number of unconfirmed writes whose effects the list shows. */
  readonly pending: number;
  /** The error that caused the status; null if there was none. */
  readonly error: ServiceError | null;
  /** True if `loadMore` may find more rows, because the list has as many rows as its `limit`. */
  readonly hasMore: boolean;
  /** The method `loadMore` of the list. */
  readonly loadMore: (count?: number) => void;
}

/** Members that a live list adds to a row. */
export interface LiveMarks {
  /** The row's ETag. Absent if the resource has no ETags. */
  readonly _etag?: string;
  /** Present if an unconfirmed write has created or changed the row. */
  readonly _pending?: true;
  /** Present until the service has created the row. Until then, generated values are missing. */
  readonly _new?: NewRow;
}

/** A reference to a row that exists only in the outbox so far. */
export interface NewRow {
  /** The id of the write that creates the row. */
  readonly id: string;
}

import type { ServiceError } from "../request/service_error.ts";
import type { LiveRow, LiveStatus } from "./live_messages.ts";

/** What a live list shows: a new object after each change. */
export interface LiveListState<Row = LiveRow> {
  /** In the order of `orderBy`. */
  readonly items: readonly (Row & LiveMarks)[];
  /** How current the rows are. */
  readonly status: LiveStatus;
  /** How many writes it shows that are not confirmed yet. */
  readonly pending: number;
  /** Why it is `limited`, `needs-auth`, `closed`, or `stale`, where the service has said it. */
  readonly error: ServiceError | null;
}

/** What a live list adds to its rows. */
export interface LiveMarks {
  /** The tag of the row, where the resource has tags. */
  readonly _etag?: string;
  /** Present where a write that is not confirmed yet has made or changed the row. */
  readonly _pending?: true;
  /** Present until the row is created: names it for further writes, as it has no key yet. */
  readonly _new?: NewRow;
}

/** A row that an outbox will create. */
export interface NewRow {
  /** Of the write that creates it. */
  readonly id: string;
}

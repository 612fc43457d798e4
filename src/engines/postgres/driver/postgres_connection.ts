import type { ResultColumn } from "../../../db/driver.ts";
import type { BoundStatement } from "./prepared_statements.ts";

export type TextRow = readonly (string | null)[];

/** Called for each row of a result. Returns false to discard this row and all previous rows. */
export type KeepRow = (row: TextRow) => boolean;

export interface PostgresSession {
  /** Returns the open connection. Opens one at the first call, and after a connection was lost. */
  connection(): PostgresConnection;
  close(): Promise<void>;
}

/** A connection of any library. It never reconnects, because a lost transaction cannot continue. */
export interface PostgresConnection {
  /** Null if the connection is open. Otherwise resolves when it opens, or rejects if it cannot. */
  readonly opening: Promise<void> | null;
  /** True if the connection is lost. The server has then rolled back any open transaction. */
  readonly lost: boolean;
  /**
   * Runs one statement, with values as strings. Rejects as `unavailable` if the connection was lost
   * before the statement was sent. With `isPipelined`, a stale prepared statement is not repeated.
   */
  run(text: string, values: TextRow, isPipelined?: boolean): Promise<PostgresResult>;
  read(text: string, values: TextRow, keep: KeepRow, isPipelined?: boolean): ScheduledRead;
  /** Runs both in a transaction. Returns the second result; null if a statement is unprepared. */
  readAfter?(first: BoundStatement, statement: BoundStatement, keep: KeepRow): ScheduledRead | null;
  /** Ends a transaction, and restores everything that functions may have changed in the session. */
  end(command: "COMMIT" | "ROLLBACK"): Promise<PostgresResult>;
  drop(): void;
}

export interface ScheduledRead {
  readonly result: Promise<PostgresResult>;
  cancel(): Promise<void>;
}

export interface PostgresResult {
  readonly rows: readonly (readonly (string | null)[])[];
  readonly command: string;
  readonly count: number;
  readonly columns: readonly ResultColumn[];
}

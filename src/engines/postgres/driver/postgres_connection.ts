import type { ResultColumn } from "../../../db/driver.ts";
import type { BoundStatement } from "./prepared_statements.ts";

export type TextRow = readonly (string | null)[];

/** Returns false to leave out this row and all previous rows of the result. */
export type KeepRow = (row: TextRow) => boolean;

/** A session of the Postgres driver, for any client library. It has one connection or none. */
export interface PostgresSession {
  /** Returns the open connection. Opens one at the first call, and after a connection was lost. */
  connection(): PostgresConnection;
  close(): Promise<void>;
}

/**
 * A connection of the Postgres driver, for any client library. Once it is lost, it never connects
 * again, because a transaction belongs to one connection.
 */
export interface PostgresConnection {
  /**
   * Null if the connection is open. Otherwise a promise that resolves once it is open, and rejects
   * with the library's error if it cannot be opened.
   */
  readonly opening: Promise<void> | null;
  /** True if the connection is lost. The server has then rolled back any open transaction. */
  readonly lost: boolean;
  /**
   * Runs one statement. Values are strings in both directions. Rejects with the library's own
   * errors, or as `unavailable` if the connection was lost before the statement was sent. Set
   * `isPipelined` if more statements are sent before the response. Then a statement whose prepared
   * form is stale is not sent a second time.
   */
  run(text: string, values: TextRow, isPipelined?: boolean): Promise<PostgresResult>;
  /**
   * Runs a statement that only reads. `keep` is called with each row when it arrives. If `keep`
   * returns false, the result lacks this row and all previous rows. For `isPipelined`, see `run`.
   */
  read(text: string, values: TextRow, keep: KeepRow, isPipelined?: boolean): ScheduledRead;
  /**
   * Runs two prepared statements in one message, as one transaction. The first returns no row. The
   * second only reads, and returns the result. If either fails, neither has an effect. Returns null
   * if one of them was not prepared yet. The method is absent if connections prepare no statements.
   */
  readAfter?(first: BoundStatement, statement: BoundStatement, keep: KeepRow): ScheduledRead | null;
  /**
   * Ends a transaction, and restores the session that functions may have changed: its settings and
   * role, temporary tables, cursors, locks, and channels that it listens to.
   */
  end(command: "COMMIT" | "ROLLBACK"): Promise<PostgresResult>;
  /** Closes the connection, even during a transaction. The server rolls back uncommitted work. */
  drop(): void;
}

export interface ScheduledRead {
  /** The result of the read. Rejects like {@link PostgresConnection.run}. */
  readonly result: Promise<PostgresResult>;
  /**
   * Cancels the read on the server, if the library can. Resolves when the connection is safe to use
   * again or has been closed. Never rejects.
   */
  cancel(): Promise<void>;
}

/** The result of a statement in the Postgres driver, for any client library. */
export interface PostgresResult {
  readonly rows: readonly (readonly (string | null)[])[];
  readonly command: string;
  readonly count: number;
  readonly columns: readonly ResultColumn[];
}

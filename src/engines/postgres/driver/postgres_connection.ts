import type { ResultColumn } from "../../../db/driver.ts";
import type { BoundStatement } from "./prepared_statements.ts";

/** A session of the Postgres driver, with any library. It has at most one open connection. */
export interface PostgresSession {
  /** Returns the open connection. Opens a connection at the first call, and after a loss. */
  connection(): PostgresConnection;
  close(): Promise<void>;
}

/**
 * One connection of the Postgres driver, with any library. A lost connection never reconnects,
 * because a transaction is bound to one connection.
 */
export interface PostgresConnection {
  /**
   * Null if the connection is open. Otherwise a promise. It resolves once the connection is open,
   * and rejects with the library's error if opening fails.
   */
  readonly opening: Promise<void> | null;
  /** True if the connection is lost. The server has then rolled back any open transaction. */
  readonly lost: boolean;
  /**
   * Runs one statement. Values are text in both directions. Rejects with the library's own errors.
   * Rejects as `unavailable` if the connection was lost before the statement was sent. Set
   * `isPipelined` if further statements are sent before the response. Then the statement is sent at
   * most once, even if its prepared form is stale.
   */
  run(
    text: string,
    values: readonly (string | null)[],
    isPipelined?: boolean,
  ): Promise<PostgresResult>;
  /**
   * Runs one read-only statement. `keep` is called for each row when it arrives. If `keep` returns
   * false, the result omits this row and all previous rows. For `isPipelined`, see `run`.
   */
  read(
    text: string,
    values: readonly (string | null)[],
    keep: (row: readonly (string | null)[]) => boolean,
    isPipelined?: boolean,
  ): ScheduledRead;
  /**
   * Runs two prepared statements in one message, as one transaction. The first statement returns no
   * row, and the second one is read-only and returns the result. If one fails, no other effect
   * remains. Returns null if a statement was not yet prepared. Absent if nothing is prepared.
   */
  readAfter?(
    first: BoundStatement,
    statement: BoundStatement,
    keep: (row: readonly (string | null)[]) => boolean,
  ): ScheduledRead | null;
  /** Closes the connection, even within a transaction. The server rolls back uncommitted work. */
  drop(): void;
}

export interface ScheduledRead {
  /** The result of the read. Rejects like {@link PostgresConnection.run}. */
  readonly result: Promise<PostgresResult>;
  /**
   * Cancels the read on the server if the library can. Resolves when the connection can be used
   * again safely or has been closed. Never rejects.
   */
  cancel(): Promise<void>;
}

/** The result of a statement in the Postgres driver, with any library. */
export interface PostgresResult {
  readonly rows: readonly (readonly (string | null)[])[];
  /** The executed command, for example `INSERT`. */
  readonly command: string;
  readonly count: number;
  readonly columns: readonly ResultColumn[];
}

import type { ResultColumn } from "../../../db/driver.ts";

/** A session of the Postgres driver. It has one connection at a time, by any library. */
export interface PostgresSession {
  /** Returns the open connection, or a new one at first and after a loss. */
  connection(): PostgresConnection;
  close(): Promise<void>;
}

/**
 * One connection of the Postgres driver, by any library, until it is lost. It never reconnects,
 * because a transaction is bound to it.
 */
export interface PostgresConnection {
  /** Resolves once the connection is open. Null if it is open. Rejects with the library's error. */
  readonly opening: Promise<void> | null;
  /** True if the connection is lost, and with it any open transaction. */
  readonly lost: boolean;
  /**
   * Runs one statement. Values are text in both directions. Rejects with the library's own errors.
   * Rejects as `unavailable` if the connection was lost before the statement was sent.
   */
  run(text: string, values: readonly (string | null)[]): Promise<PostgresResult>;
  /**
   * Runs one read-only statement. `keep` is called for each row when it arrives. If it returns
   * false, the row and all previous rows are released.
   */
  read(
    text: string,
    values: readonly (string | null)[],
    keep: (row: readonly (string | null)[]) => boolean,
  ): ScheduledRead;
  /** Closes the connection in any state. The server rolls back uncommitted work. */
  drop(): void;
}

/** A read that runs on a Postgres connection. */
export interface ScheduledRead {
  /** The result, as of {@link PostgresConnection.run}. */
  readonly result: Promise<PostgresResult>;
  /**
   * Cancels the read on the server if the library can. Resolves when the connection can be used
   * again safely, or is dropped. Never rejects.
   */
  cancel(): Promise<void>;
}

/** The result of a statement of the Postgres driver, by any library. */
export interface PostgresResult {
  readonly rows: readonly (readonly (string | null)[])[];
  /** The executed command, for example `INSERT`. */
  readonly command: string;
  readonly count: number;
  readonly columns: readonly ResultColumn[];
}

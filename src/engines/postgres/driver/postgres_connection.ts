import type { ResultColumn } from "../../../db/driver.ts";

/** A session of the Postgres driver: it holds one connection at a time, by whichever library. */
export interface PostgresSession {
  /** The open connection; at first, and after a loss, a new one. */
  connection(): PostgresConnection;
  close(): Promise<void>;
}

/**
 * One connection of the Postgres driver by whichever library, until it is lost. It never connects
 * again: a transaction is bound to it.
 */
export interface PostgresConnection {
  /** Null once it is open. Rejects with the library's own error when it cannot be opened. */
  readonly opening: Promise<void> | null;
  /** True if it is lost, and with it the transaction that it held. */
  readonly lost: boolean;
  /**
   * Runs one statement; values are text in both directions. Rejects with the library's own errors,
   * and as `unavailable` when the connection was lost before anything was sent.
   */
  run(text: string, values: readonly (string | null)[]): Promise<PostgresResult>;
  /**
   * Runs one statement that only reads: `keep` is asked for each row when it arrives, and a row that
   * it refuses is not held, nor those before it.
   */
  read(
    text: string,
    values: readonly (string | null)[],
    keep: (row: readonly (string | null)[]) => boolean,
  ): RunningRead;
  /** Closes the connection in any state: the server rolls back what was not committed. */
  drop(): void;
}

/** A read that runs on a Postgres connection. */
export interface RunningRead {
  /** As that of {@link PostgresConnection.run}. */
  readonly result: Promise<PostgresResult>;
  /**
   * Ends the read on the server, where the library can. Resolves when the connection may be used
   * again without being hit, or is dropped; never rejects.
   */
  cancel(): Promise<void>;
}

/** The result of a statement that the Postgres driver runs, by whichever library. */
export interface PostgresResult {
  readonly rows: readonly (readonly (string | null)[])[];
  /** The command that was run, e.g. `INSERT`. */
  readonly command: string;
  readonly count: number;
  readonly columns: readonly ResultColumn[];
}

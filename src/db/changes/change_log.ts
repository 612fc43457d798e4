import type { Row, TableInfo } from "../../schema/table_info.ts";
import type { QueryResult } from "../driver.ts";
import type { Statement } from "../../sql/fragment.ts";

/**
 * Where somebody stands in the log: every change that it covers is known. Good in any process that
 * serves the same database; {@link ChangeLog.print} makes the text of it that clients hold.
 */
export type Position = SequencePosition | SnapshotPosition;

/** SQLite: numbers are given under the one write lock, so that their order is that of commits. */
export interface SequencePosition {
  /** Tells it from the other form. */
  readonly kind: "sequence";
  /** Which life of the log it belongs to: a number of another life means nothing. */
  readonly epoch: string;
  /** The last change that is covered. */
  readonly seq: number;
}

/** Postgres: the transactions that a snapshot sees. Numbers are given before commits there. */
export interface SnapshotPosition {
  /** Tells it from the other form. */
  readonly kind: "snapshot";
  /** Which life of the log it belongs to. */
  readonly epoch: string;
  /** Every transaction below is covered. */
  readonly xmin: bigint;
  /** No transaction from here on is covered. */
  readonly xmax: bigint;
  /** Those between that were still running, and are not covered. Ascending. */
  readonly running: readonly bigint[];
}

/** One change of one row, read back from the log: committed, whoever made it. */
export interface Change {
  /** Grows with every change of the same row. */
  readonly seq: number;
  /** The transaction that made it, where positions are snapshots; else null. */
  readonly transaction: bigint | null;
  /** What was changed. */
  readonly table: TableInfo;
  /**
   * `truncate` took every row away without naming them; `touch` says that something was changed
   * and nobody knows what. Both have no rows.
   */
  readonly kind: "insert" | "update" | "delete" | "truncate" | "touch";
  /** The whole row as it was, hidden columns included; null for what was not there. */
  readonly before: Row | null;
  /** The whole row as it became. */
  readonly after: Row | null;
  /** What the client that created the row called it; else null. */
  readonly optimisticId: string | null;
  /** About how much memory its rows take. */
  readonly sizeBytes: number;
}

/** The next changes behind a position. */
export interface Step {
  /** In an order in which the changes of one row follow each other as they happened. */
  readonly changes: readonly Change[];
  /**
   * Where one stands behind them; null when more of the same step follow (a large one comes in
   * parts): ask again with the step itself.
   */
  readonly to: Position | null;
}

/** The log of one database, written in the transactions that change its rows. */
export interface ChangeLog {
  /** The tables whose changes are in it. */
  readonly tables: ReadonlySet<TableInfo>;
  /** Random, kept in the database, and never sent to anybody. */
  readonly secret: string;
  /** Where the log ends now. */
  end(): Promise<Position>;
  /** The first changes behind a position or of an unfinished step; null where history is lost. */
  next(from: Position | Step): Promise<Step | null>;
  /**
   * Runs a read, by one statement, together with the position that it was read at. Without any
   * row the position may be a little older than the read.
   */
  readAt(statement: Statement): Promise<QueryResult & { readonly position: Position }>;
  /** Whether a position covers a change. */
  covers(position: Position, change: Change): boolean;
  /** Whether `position` covers all that `earlier` covers. May answer false when in doubt. */
  includes(position: Position, earlier: Position): boolean;
  /** A position as a text, of which the token of a client is made. */
  print(position: Position): string;
  /** The position of a text; null for what is none of this database's. */
  parse(text: string): Position | null;
  /** Calls back whenever there may be something new; the answer ends that. */
  onHint(look: () => void): () => void;
  /** Forgets what is older than the retention time. */
  purge(): Promise<void>;
  /** Ends what it listens to and polls by. The database stays open. */
  close(): Promise<void>;
}

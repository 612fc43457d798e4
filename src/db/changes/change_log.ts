import type { Row, TableInfo } from "../../schema/table_info.ts";
import type { QueryResult, ReadLimits } from "../driver.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { Statement } from "../../sql/fragment.ts";
import type { Position } from "./log_position.ts";

/** A committed change of one row in the change log, whichever program made it. */
export interface Change {
  /** Grows with every change of the same row. */
  readonly seq: number;
  /** The transaction that made it, where positions are snapshots; else null. */
  readonly transaction: bigint | null;
  /** Chance, by which it differs from a change with its number after a restore; null if none is needed. */
  readonly mark: number | null;
  /** The table of the row. */
  readonly table: TableInfo;
  /**
   * `truncate` removed all rows without naming them; `touch` says that something was changed, and
   * it is not known what. Both have no rows.
   */
  readonly kind: "insert" | "update" | "delete" | "truncate" | "touch";
  /** The whole row before the change, hidden columns included; null for an insert. */
  readonly before: Row | null;
  /** The whole row after the change; null for a delete. */
  readonly after: Row | null;
  /** The name that the client gave to the row that it created; else null. */
  readonly optimisticId: string | null;
  /** About the size of its rows in memory. */
  readonly sizeBytes: number;
}

/** One read of the change log: the next changes after a position. */
export interface Step {
  /** In an order in which the changes of one row follow each other as they happened. */
  readonly changes: readonly Change[];
  /**
   * The position after them; null when more of the same step follow (a large step comes in parts):
   * pass the step itself to {@link ChangeLog.next}.
   */
  readonly to: Position | null;
}

/**
 * The change log of one database, of either engine, written in the transactions that change its
 * rows.
 */
export interface ChangeLog {
  /** The tables whose changes are in it. */
  readonly tables: ReadonlySet<TableInfo>;
  /** Random, kept in the database, and never sent to a client. */
  readonly secret: string;
  /** Where the log ends now. */
  end(): Promise<Position>;
  /** The next changes after a position or of an unfinished step; null if history is lost. */
  next(from: Position | Step): Promise<Step | null>;
  /**
   * Runs a SELECT, and gives the position that it was read at in the same statement. Without any
   * row the position may be a little older than the read. Rejects beyond `limits`, as a read of the
   * driver does.
   */
  readAt(
    statement: Statement,
    limits?: ReadLimits,
  ): Promise<QueryResult & { readonly position: Position }>;
  /** Returns true if a position covers a change. */
  covers(position: Position, change: Change): boolean;
  /** Returns true if `position` covers all that `earlier` covers. May be false when in doubt. */
  includes(position: Position, earlier: Position): boolean;
  /** A position as a string, which the resume tokens of clients hold. */
  print(position: Position): string;
  /** The position of a string; null for a string of another database or epoch. */
  parse(text: string): Position | null;
  /**
   * Returns true if the history of the log is still the one in which a position was given. False after the
   * database was restored to a state before it, and for a position that was purged.
   */
  holds(position: Position): MaybePromise<boolean>;
  /** Calls `listener` when there may be something new; the function that it returns removes it. */
  onHint(listener: () => void): () => void;
  /** Deletes changes that are older than the retention time. */
  purge(): Promise<void>;
  /** Stops listening and polling. The database stays open. */
  close(): Promise<void>;
}

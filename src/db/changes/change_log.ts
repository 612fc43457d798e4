import type { Row, TableInfo } from "../../schema/table_info.ts";
import type { QueryResult, ReadLimits } from "../driver.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { Statement } from "../../sql/fragment.ts";
import type { Position } from "./log_position.ts";

/** A committed change in the change log, by any program: of one row, or of a whole table. */
export interface Change {
  readonly seq: number;
  /** The transaction of the change. Null on SQLite, where positions in the log are numbers. */
  readonly transaction: bigint | null;
  /** A random number: after a restore, another change can have this `seq`. Null on Postgres. */
  readonly mark: number | null;
  readonly table: TableInfo;
  /** `truncate` removed all rows, and `touch` wrote unknown rows: `before` and `after` are null. */
  readonly kind: "insert" | "update" | "delete" | "truncate" | "touch";
  /** The whole row before the change, including columns hidden from clients. Null for an insert. */
  readonly before: Row | null;
  readonly after: Row | null;
  readonly optimisticId: string | null;
  /** The approximate size of the rows in memory, in bytes. */
  readonly sizeBytes: number;
}

export interface ChangeLogStep {
  /** The changes. All changes of one row are in their original order. */
  readonly changes: readonly Change[];
  /** The position after the changes. Null if `next` will return more changes of this step. */
  readonly to: Position | null;
}

export interface LogSize {
  /** Number of changes, including the sequence numbers that rolled back transactions have used. */
  readonly changes: number;
  /** Age of the oldest change in seconds; 0 for an empty log. */
  readonly oldestSeconds: number;
}

/** The change log of one database. It is written in the transactions that change the rows. */
export interface ChangeLog {
  readonly tables: ReadonlySet<TableInfo>;
  /** A random secret, the key of the hashes in resume tokens. It is stored in the database. */
  readonly secret: string;
  end(): Promise<Position>;
  /** Returns the changes after a position, or the next part of a step. Null if some were purged. */
  next(from: Position | ChangeLogStep): Promise<ChangeLogStep | null>;
  /** Reads rows, and the log position of that time. Without any row, the position can be older. */
  readAt(
    statement: Statement,
    limits?: ReadLimits,
  ): Promise<QueryResult & { readonly position: Position }>;
  /** Parses a position that a client sent. Null if the position does not belong to this log. */
  parse(text: string): Position | null;
  /** Returns false if the database was restored to an earlier state, or the position was purged. */
  holds(position: Position): MaybePromise<boolean>;
  onHint(listener: () => void): () => void;
  purge(): Promise<void>;
  /** Reads how many changes the log contains, and how old they are. Scans no table. */
  size(): Promise<LogSize>;
  close(): Promise<void>;
}

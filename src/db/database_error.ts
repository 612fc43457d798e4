/** The kind of a database error: the answer to the client is chosen by it. */
export type DatabaseErrorKind =
  | "unique"
  | "foreign-key"
  | "not-null"
  | "check"
  /** A value the engine refused: out of range, bad encoding. */
  | "invalid-value"
  /** A computation of a view, a trigger or a policy failed, such as a division by zero. */
  | "failed-computation"
  /** Serialisation failure or deadlock: the same work may succeed when run again. */
  | "retryable"
  /** The statement was ended by a time limit. */
  | "timeout"
  /** A read took longer than the limit of its request. */
  | "too-slow"
  /** The rows of a read have more bytes than the limit of its request. */
  | "too-large"
  /** Too many reads wait for their turn. */
  | "overloaded"
  /** Busy past its time, full, or not reachable; nothing was written. */
  | "unavailable"
  /** The path names another file than the one that is open; nothing was read or written. */
  | "replaced"
  /** The connection was lost during commit: the write may or may not have happened. */
  | "unknown-outcome"
  | "read-only"
  /** A view calls a function that writes, and the transaction of the read is read-only. */
  | "writing-read"
  /** The table takes no such write: a part of it names a table, function or collation that is missing. */
  | "broken-table"
  /** The service's own role has no right to it, or a policy of the database hides the row. */
  | "forbidden"
  /** A rule of the table rewrites an INSERT in a way that gives no rows back; nothing was written. */
  | "no-returning"
  /** A trigger or a function of the database refused it by an error code of its own. */
  | "raised"
  | "other";

/**
 * What a database said about the constraint that refused a write: the names by which its columns
 * are found. No client sees any of them.
 */
export interface FailedConstraint {
  /** The schema of the table, or of the type; null if the engine names none. */
  readonly schema: string | null;
  /** The table that the constraint belongs to. */
  readonly table: string | null;
  /** The one column, where the engine names it. */
  readonly column: string | null;
  /** The type whose constraint it is: a domain. */
  readonly type: string | null;
  /** The name of the constraint; of SQLite what its message says after the colon. */
  readonly name: string | null;
}

/** What a trigger or a function said when it refused a statement on purpose. */
export interface RaisedError {
  /** For clients; null if it said nothing, or clients may not see it. */
  readonly message: string | null;
  /** The status of the answer that its code names; null for another code. */
  readonly status: number | null;
}

/**
 * A database error of any driver, translated by code, never by text. The original is the `cause`.
 *
 * @example
 * ```ts
 * import { DatabaseError, integer, openDatabase, table } from "@svc/resource-api";
 *
 * const notes = table("notes", { id: integer().primaryKey() });
 * const db = await openDatabase("sqlite::memory:");
 * await db.createTables([notes]);
 * const insert = { text: "INSERT INTO notes (id) VALUES (1)", values: [] };
 * await db.driver.query(insert);
 * try {
 *   await db.driver.query(insert);
 * } catch (error) {
 *   if (!(error instanceof DatabaseError)) throw error;
 *   console.log(error.kind); // "unique"
 * }
 * await db.close();
 * ```
 */
export class DatabaseError extends Error {
  /** What went wrong, for choosing the answer. */
  readonly kind: DatabaseErrorKind;
  /** What the engine said about the constraint that refused a write; null if it said nothing. */
  readonly constraint: FailedConstraint | null;
  /** What a trigger or a function raised on purpose; null for the engine's own errors. */
  readonly raised: RaisedError | null;

  /** `cause` is the driver's own error. */
  constructor(
    kind: DatabaseErrorKind,
    cause: unknown,
    constraint: FailedConstraint | null = null,
    raised: RaisedError | null = null,
  ) {
    super(`The database answered: ${kind}`, { cause });
    this.name = "DatabaseError";
    this.kind = kind;
    this.constraint = constraint;
    this.raised = raised;
  }
}

/**
 * The driver's message in a database error, for operators of the service; never for its clients.
 */
export function reasonOf({ kind, cause }: DatabaseError): string {
  return cause instanceof Error ? cause.message : kind;
}

/**
 * {@link reasonOf} with what Postgres adds to its messages: what refers to a table, or which values
 * are not distinct. For the deployer, who may see these.
 */
export function fullReasonOf(error: DatabaseError): string {
  const { cause } = error;
  const detail = cause instanceof Error && "detail" in cause ? cause.detail : null;
  const reason = reasonOf(error);
  return typeof detail === "string" && detail !== "" ? `${reason} (${detail})` : reason;
}

/**
 * Returns true if the reason of an error helps the operator more than its kind does: the kind of these asks
 * for another try, or says that nothing is known.
 */
export function isLasting(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.kind !== "retryable" &&
    error.kind !== "unknown-outcome";
}

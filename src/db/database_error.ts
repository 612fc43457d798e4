/** The kind of a database error: the answer to the client is chosen by it. */
export type DatabaseErrorKind =
  | "unique"
  | "foreign-key"
  | "not-null"
  | "check"
  /** A value the engine refused: out of range, bad encoding. */
  | "invalid-value"
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
  /** The connection was lost during commit: the write may or may not have happened. */
  | "unknown-outcome"
  | "read-only"
  /** The service's own role has no right to it, or a policy of the database hides the row. */
  | "forbidden"
  | "other";

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

  /** `cause` is the driver's own error. */
  constructor(kind: DatabaseErrorKind, cause: unknown) {
    super(`The database answered: ${kind}`, { cause });
    this.name = "DatabaseError";
    this.kind = kind;
  }
}

/**
 * The driver's message in a database error, for operators of the service; never for its clients.
 */
export function reasonOf({ kind, cause }: DatabaseError): string {
  return cause instanceof Error ? cause.message : kind;
}

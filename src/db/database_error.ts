/** What went wrong in the database, in the words that answers are chosen by. */
export type DatabaseErrorKind =
  | "unique"
  | "foreign-key"
  | "not-null"
  | "check"
  /** A value the engine refused: out of range, bad encoding. */
  | "invalid-value"
  /** Serialisation failure or deadlock: the same work may succeed when run again. */
  | "retryable"
  /** A time limit ended the statement. */
  | "timeout"
  /** Busy past its time, full, or not reachable; nothing was written. */
  | "unavailable"
  /** The connection was lost during commit: the write may or may not have happened. */
  | "unknown-outcome"
  | "read-only"
  /** The service's own role may not do it, or a policy of the database keeps it from the row. */
  | "forbidden"
  | "other";

/** A driver's error, translated by code, never by text. The original is the `cause`. */
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

/** What the driver said, for whoever runs the service; never for its callers. */
export function reasonOf({ kind, cause }: DatabaseError): string {
  return cause instanceof Error ? cause.message : kind;
}

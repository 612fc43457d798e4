import { Problem, type ProblemOptions } from "../problem/problem.ts";
import type { ProblemSlug } from "../protocol/problem_codes.ts";
import { unreachable } from "../problem/unreachable.ts";

/** The kind of a database error, which determines the response to the client. */
export type DatabaseErrorKind =
  | "unique"
  | "foreign-key"
  | "not-null"
  | "check"
  /** The engine rejected a value: out of range, or with an invalid encoding. */
  | "invalid-value"
  /** A computation of a view, a trigger or a policy failed, such as a division by zero. */
  | "failed-computation"
  /** A serialization failure or a deadlock. The work can succeed if it runs again. */
  | "retryable"
  | "timeout"
  /** A read took longer than the limit of its request. */
  | "too-slow"
  /** The rows of a read have more bytes than the limit of its request. */
  | "too-large"
  | "overloaded"
  /** The database is busy, full or unreachable. Nothing was written. */
  | "unavailable"
  /** The path no longer leads to the open file, or the file is damaged. */
  | "replaced"
  /** The connection was lost during the commit. The write may or may not have happened. */
  | "unknown-outcome"
  | "read-only"
  /** In a read-only transaction, a view called a function that writes. */
  | "writing-read"
  /** A part of the table is broken. For example, a trigger names a missing table. */
  | "broken-table"
  /** The service's role is not allowed to run the statement, or a policy rejects the row. */
  | "forbidden"
  /** A rule rewrites an INSERT into a statement that returns no rows. No row was written. */
  | "no-returning"
  /** The row would not match the filter that the write requires. Nothing was written. */
  | "outside-scope"
  /** A trigger or a function of the database rejected the statement with a custom error code. */
  | "raised"
  | "other";

/** The constraint that rejected a write, as the database names it. Clients never see the names. */
export interface FailedConstraint {
  /** The schema of the table or of the type, or null if the engine names none. */
  readonly schema: string | null;
  /** The table that the constraint belongs to, or null if the engine names none. */
  readonly table: string | null;
  /** The column, or null if the constraint has several columns or the engine names none. */
  readonly column: string | null;
  /** The domain that has the constraint, or null if the constraint belongs to no domain. */
  readonly type: string | null;
  /** The name of the constraint. For SQLite, the part of the error message after the colon. */
  readonly name: string | null;
}

/** An error that a trigger or a function raised on purpose to reject a statement. */
export interface RaisedError {
  /** The message for clients. Null if there is none, or if clients are not allowed to see it. */
  readonly message: string | null;
  /** The HTTP status that the error code requests, or null if it requests none. */
  readonly status: number | null;
}

/**
 * A database error of any driver. Its kind depends on the engine's error code and never on the
 * message. The original error is the `cause`.
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
  /** The kind of the error, which determines the response. */
  readonly kind: DatabaseErrorKind;
  /** The constraint that rejected a write, or null if the engine names none. */
  readonly constraint: FailedConstraint | null;
  /** The error that a trigger or a function raised on purpose, or null for the engine's errors. */
  readonly raised: RaisedError | null;

  /** Creates the error. `cause` is the driver's own error. */
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

/** Returns the driver's message of a database error. Only operators may see it, never clients. */
export function reasonOf({ kind, cause }: DatabaseError): string {
  return cause instanceof Error ? cause.message : kind;
}

/** Returns the driver's message with Postgres's details. Only operators may see this string. */
export function fullReasonOf(error: DatabaseError): string {
  const { cause } = error;
  const detail = cause instanceof Error && "detail" in cause ? cause.detail : null;
  const reason = reasonOf(error);
  return typeof detail === "string" && detail !== "" ? `${reason} (${detail})` : reason;
}

/** Returns true if a retry would fail, too. After a write of unknown outcome, returns false. */
export function isLastingError(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.kind !== "retryable" &&
    error.kind !== "unknown-outcome";
}

/** Returns the problem for clients, without SQL and values, or the error itself for a 500. */
export function databaseProblem(error: unknown, access: string): unknown {
  if (!(error instanceof DatabaseError)) return error;
  const problem = fixedProblem(error, access);
  const message = error.raised?.message ?? null;
  if (!(problem instanceof Problem) || message === null) return problem;
  const { slug, status, headers, cause } = problem;
  return new Problem(slug, message, { status, headers, cause });
}

function fixedProblem(error: DatabaseError, access: string): unknown {
  const refused = (slug: ProblemSlug, why: string, options: ProblemOptions = {}) =>
    new Problem(slug, `Cannot ${access}: ${why}`, { cause: error, ...options });
  switch (error.kind) {
    case "unique":
      return refused("conflict", "another row has these values");
    case "foreign-key":
      return refused("conflict", brokenReference(access));
    case "retryable":
      return refused("conflict", "other writes kept getting in the way");
    case "failed-computation":
      // A failed computation of a read is not due to values of the request, so it is a 500.
      if (access === "read" && error.raised === null) return error;
      // A delete sends no values, so the problem must not say that the database rejects a value.
      return access === "delete" ? refusedRow(access, refused) : refusedValue(access, refused);
    case "not-null":
    case "check":
      return refusedRow(access, refused);
    case "invalid-value":
      return refusedValue(access, refused);
    case "timeout":
    case "too-slow":
      return refused("query-too-expensive", tooLong);
    case "too-large":
      return refused("query-too-expensive", tooLarge);
    case "overloaded":
      return refused("overloaded", "too many queries wait for their turn", retrySoon);
    case "unavailable":
    case "replaced":
    case "read-only":
      return refused("database-unavailable", "the database is not available", retrySoon);
    case "no-returning":
    case "outside-scope":
    case "forbidden":
      return refused("forbidden", "the database does not allow it");
    case "writing-read":
      return refused("forbidden", writingPart);
    case "broken-table":
      // A read fails with this error if it sorts or filters by a column with a missing collation.
      return refused(access === "read" ? "invalid-parameter" : "conflict", missingPart);
    case "raised":
      return refused(
        "refused-by-database",
        "a rule of the database refused it",
        namedStatus(error.raised?.status ?? null),
      );
    case "unknown-outcome":
      return new Problem(
        "database-unavailable",
        "The connection was lost while the write was confirmed: read before you repeat it",
        { cause: error, ...retrySoon },
      );
    case "other":
      return error;
    default:
      return unreachable(error.kind);
  }
}

const tooLong = "the query takes too long. Filter and sort by indexed fields, or request less";
const tooLarge = "the result is too large. Request a smaller page, or fewer fields";
const writingPart =
  "a part of the view, such as nextval(), writes, and the database allows reads only";
const missingPart = "a part of the table, such as a trigger, names a table, a function or a " +
  "collation that is missing";

const retrySoon: ProblemOptions = { headers: { "retry-after": "1" } };

type Refused = (slug: ProblemSlug, why: string) => Problem;

function refusedValue(access: string, refused: Refused): Problem {
  return refused(
    access === "read" ? "invalid-parameter" : "validation-error",
    "the database does not take one of the values",
  );
}

function refusedRow(access: string, refused: Refused): Problem {
  // A delete fails if another row would lose a required reference, or if a rule protects the row.
  return access === "delete"
    ? refused("conflict", "the database keeps this row")
    : refused("validation-error", "a value is missing or not allowed");
}

function namedStatus(status: number | null): ProblemOptions {
  if (status === null) return {};
  if (status === 401) return { status, headers: { "www-authenticate": "Bearer" } };
  return status === 429 || status === 503 ? { status, ...retrySoon } : { status };
}

/** An update can break the row's own reference, or another row's reference to this row. */
function brokenReference(access: string): string {
  if (access === "create") return "there is no row that this one refers to";
  if (access === "delete") return "another row refers to this one";
  return "it would leave a reference without its row";
}

import {
  DatabaseError,
  type DatabaseErrorKind,
  type FailedConstraint,
  type RaisedError,
} from "../../../db/database_error.ts";
import { toClientMessage } from "../../../db/raised_message.ts";
import { isFailUnlessError } from "../sql/require_row.ts";

/** If the connection is lost after a `write` or `commit` was sent, the outcome is unknown. */
export function toPostgresError(
  error: unknown,
  sent: "write" | "part" | "read" | "commit",
  showsRaised = false,
): unknown {
  const code = codeOf(error);
  if (code === null || !(error instanceof Error) || error instanceof DatabaseError) return error;
  const mayBeCommitted = sent === "write" || sent === "commit";
  if (mayBeCommitted && losesOutcome(code)) return new DatabaseError("unknown-outcome", error);
  if (isFailUnlessError(code, error)) return new DatabaseError("outside-scope", error);
  const raised = raisedError(code, error, showsRaised);
  const known = refusesReturning(code, error)
    ? "no-returning"
    : isStalePlan(error)
    ? "retryable"
    : sent === "read" && readOnlyCodes.has(code) || !mayBeCommitted && writesInQuery(code, error)
    ? "writing-read"
    : sent !== "read" && isMissingInFunction(code, error)
    ? "broken-table"
    : kindOf(code);
  const kind = known === "other" ? kindOfFunction(code, raised) : known;
  return new DatabaseError(kind, error, failedConstraint(error), raised);
}

function kindOfFunction(code: string, raised: RaisedError | null): DatabaseErrorKind {
  if (raised !== null) return "raised";
  return failuresOfFunctions.has(code) ? "failed-computation" : "other";
}

/** PL/pgSQL errors: a CASE without branch, INTO STRICT without one row, a commit in a function. */
const failuresOfFunctions: ReadonlySet<string> = new Set(["20000", "P0002", "P0003", "2D000"]);

/** Returns true if a function that is not volatile contains a statement that can write. */
function writesInQuery(code: string, error: Error): boolean {
  return code === "0A000" && "routine" in error && typeof error.routine === "string" &&
    ["_SPI_execute_plan", "SPI_cursor_open_internal"].includes(error.routine);
}

function raisedError(code: string, error: Error, showsMessage: boolean): RaisedError | null {
  const isRaise = isRaised(error);
  // Node also has error codes with five letters, like EPIPE, but its errors have no severity.
  const isOwn = "severity" in error && isOwnCode(code);
  if (!isRaise && code !== "P0001" && !isOwn) return null;
  // A trigger cannot choose the statuses 405, 407 and 426, because they require a header.
  const [, status] = /^PT(?!405|407|426)([45]\d\d)$/.exec(code) ?? [];
  return {
    message: showsMessage ? toClientMessage(error.message) : null,
    status: status === undefined ? null : Number(status),
  };
}

function isRaised(error: Error): boolean {
  return "routine" in error &&
    (error.routine === "exec_stmt_raise" || error.routine === "exec_stmt_assert");
}

/** Returns true for a SQLSTATE in a class that neither Postgres nor its client libraries use. */
function isOwnCode(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && !postgresClasses.has(code.slice(0, 2));
}

const postgresClasses: ReadonlySet<string> = new Set([
  ...["00", "01", "02", "03", "08", "09", "0A", "0B", "0F", "0L", "0P", "0Z", "10", "20", "21"],
  ...["22", "23", "24", "25", "26", "27", "28", "2B", "2D", "2F", "34", "38", "39", "3B", "3D"],
  ...["3F", "40", "42", "44", "53", "54", "55", "57", "58", "72", "F0", "HV", "P0", "XX"],
]);

export function isStalePlan(error: unknown): boolean {
  return error instanceof Error && "routine" in error &&
    (error.routine === "RevalidateCachedQuery" || error.routine === "FetchPreparedStatement");
}

/** Returns true if a rewrite rule forbids RETURNING. The SQLSTATE alone does not show that. */
function refusesReturning(code: string, error: Error): boolean {
  return code === "0A000" && "routine" in error && error.routine === "RewriteQuery";
}

/** Returns the failed constraint from the error's fields, which libraries name differently. */
function failedConstraint(error: Error): FailedConstraint | null {
  const fields: ReadonlyMap<string, unknown> = new Map(Object.entries(error));
  const named = (...names: readonly string[]): string | null => {
    const found = names.map((name) => fields.get(name)).find((value) => typeof value === "string");
    return typeof found === "string" ? found : null;
  };
  const [table, type] = [named("table_name", "table"), named("data type_name", "dataType")];
  if (table === null && type === null) return null;
  const [schema, column] = [named("schema_name", "schema"), named("column_name", "column")];
  return { schema, table, column, type, name: named("constraint_name", "constraint") };
}

/** True if an input function, e.g. of tsquery, rejected a value. Such an error has no position. */
export function isRejectedValue(error: unknown): boolean {
  // Postgres reports a tsquery with too many operators as an internal error.
  if (error instanceof Error && "routine" in error && error.routine === "pushOpStack") return true;
  if (!(error instanceof Error) || !codesOfStatements.has(codeOf(error) ?? "")) return false;
  if (isRaised(error)) return false;
  const fields: ReadonlyMap<string, unknown> = new Map(Object.entries(error));
  return ["position", "internal_position", "internalPosition"].every((name) =>
    fields.get(name) === undefined
  );
}

function isMissingInFunction(code: string, error: Error): boolean {
  if (isRaised(error) || code === "42601" || !codesOfStatements.has(code)) return false;
  const fields: ReadonlyMap<string, unknown> = new Map(Object.entries(error));
  return ["internal_query", "internalQuery"].some((name) => fields.get(name) !== undefined);
}

const codesOfStatements: ReadonlySet<string> = new Set([
  ...["42601", "42P01", "42704", "42883", "3F000", "42602"],
]);

function codeOf(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}

function losesOutcome(code: string): boolean {
  return lostAfterSending.has(code) || code.startsWith("08") && code !== "08001";
}

const lostAfterSending: ReadonlySet<string> = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "ECONNABORTED",
  // The condition `statement_completion_unknown`.
  "40003",
  // The server was shut down, or has closed this connection, perhaps after the commit.
  "57P01",
  "57P02",
]);

const neverReached: ReadonlySet<string> = new Set([
  "CONNECT_TIMEOUT",
  "CONNECTION_ENDED",
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  // The Unix socket does not exist.
  "ENOENT",
]);

const readOnlyCodes: ReadonlySet<string> = new Set(["25006", "25001"]);

function kindOf(code: string): DatabaseErrorKind {
  if (lostAfterSending.has(code) || neverReached.has(code)) return "unavailable";
  return states.get(code) ?? classes.get(code.slice(0, 2)) ?? "other";
}

const states: ReadonlyMap<string, DatabaseErrorKind> = new Map([
  ["23505", "unique"],
  // An exclusion constraint was violated: another row conflicts with the new row.
  ["23P01", "unique"],
  ["23503", "foreign-key"],
  ["23001", "foreign-key"],
  ["23502", "not-null"],
  ["23514", "check"],
  ["44000", "check"],
  ["P0001", "check"],
  ["P0004", "check"],
  ["40001", "retryable"],
  ["40P01", "retryable"],
  ["57014", "timeout"],
  // A standby server rejected a write.
  ["25006", "read-only"],
  ["42501", "forbidden"],
  // Errors such as division by zero, which only an expression can cause, never a bound value alone.
  ...["22012", "2201E", "2201F", "2201G", "2202E", "22011", "22004"].map((code) =>
    [code, "failed-computation"] as const
  ),
  ["42725", "failed-computation"],
  ["55P03", "unavailable"],
]);

const classes: ReadonlyMap<string, DatabaseErrorKind> = new Map([
  ["08", "unavailable"],
  ["22", "invalid-value"],
  ["53", "unavailable"],
  ["54", "invalid-value"],
  ["57", "unavailable"],
  ["58", "unavailable"],
]);

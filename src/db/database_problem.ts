import { Problem, type ProblemOptions } from "../problem/problem.ts";
import { unreachable } from "../problem/unreachable.ts";
import { DatabaseError } from "./database_error.ts";

/**
 * Returns the problem that a client receives for a database error, in fixed words without SQL,
 * constraints or values. A message that a trigger or a function raised on purpose replaces these
 * words. Any other error is returned unchanged.
 */
export function databaseProblem(error: unknown, access: string): unknown {
  if (!(error instanceof DatabaseError)) return error;
  const problem = fixedProblem(error, access);
  const message = error.raised?.message ?? null;
  if (!(problem instanceof Problem) || message === null) return problem;
  const { slug, status, headers, cause } = problem;
  return new Problem(slug, message, { status, headers, cause });
}

function fixedProblem(error: DatabaseError, access: string): unknown {
  const cause = error;
  switch (error.kind) {
    case "unique":
      return new Problem("conflict", `Cannot ${access}: another row has these values`, { cause });
    case "foreign-key":
      return new Problem(
        "conflict",
        `Cannot ${access}: ${brokenReference(access)}`,
        { cause },
      );
    case "retryable":
      return new Problem("conflict", `Cannot ${access}: other writes kept getting in the way`, {
        cause,
      });
    case "not-null":
    case "check":
      return refusedRow(access, cause);
    case "failed-computation":
      // The client did not cause the error, because no value of the client is computed.
      if (access === "read" && error.raised === null) return error;
      // A delete contains no values that could be wrong.
      return access === "delete" ? refusedRow(access, cause) : refusedValue(access, cause);
    case "invalid-value":
      return refusedValue(access, cause);
    case "timeout":
    case "too-slow":
      return tooExpensive(access, tooLong, cause);
    case "too-large":
      return tooExpensive(access, tooLarge, cause);
    case "overloaded":
      return new Problem("overloaded", `Cannot ${access}: too many queries wait for their turn`, {
        cause,
        headers: { "retry-after": "1" },
      });
    case "unavailable":
    case "replaced":
    case "read-only":
      return unavailable(`Cannot ${access}: the database is not available`, cause);
    case "no-returning":
    case "outside-scope":
    case "forbidden":
      return new Problem("forbidden", `Cannot ${access}: the database does not allow it`, {
        cause,
      });
    case "writing-read":
      return new Problem(
        "forbidden",
        `Cannot ${access}: a part of the view, such as nextval(), writes, and the database allows reads only`,
        { cause },
      );
    case "broken-table":
      return new Problem(
        // A read fails like this if it sorts or filters by a column with a missing collation.
        access === "read" ? "invalid-parameter" : "conflict",
        `Cannot ${access}: a part of the table, such as a trigger, names a table, a function or a collation that is missing`,
        { cause },
      );
    case "raised":
      return new Problem(
        "refused-by-database",
        `Cannot ${access}: a rule of the database refused it`,
        { cause, ...namedStatus(error.raised?.status ?? null) },
      );
    case "unknown-outcome":
      return unavailable(
        `The connection was lost while the write was confirmed: read before you repeat it`,
        cause,
      );
    case "other":
      return error;
    default:
      return unreachable(error.kind);
  }
}

const tooLong = "the query takes too long. Filter and sort by indexed fields, or request less";
const tooLarge = "the answer is too large. Request a smaller page, or fewer fields";

function tooExpensive(access: string, why: string, cause: unknown): Problem {
  return new Problem("query-too-expensive", `Cannot ${access}: ${why}`, { cause });
}

function refusedValue(access: string, cause: unknown): Problem {
  return new Problem(
    access === "read" ? "invalid-parameter" : "validation-error",
    `Cannot ${access}: the database does not take one of the values`,
    { cause },
  );
}

/** Returns the options of a problem with this status, and the header that the status requires. */
function namedStatus(status: number | null): ProblemOptions {
  if (status === null) return {};
  if (status === 401) return { status, headers: { "www-authenticate": "Bearer" } };
  return status === 429 || status === 503
    ? { status, headers: { "retry-after": "1" } }
    : { status };
}

function refusedRow(access: string, cause: unknown): Problem {
  // Either another row would lose a required reference, or a rule of the database protects the row.
  return access === "delete"
    ? new Problem("conflict", "Cannot delete: the database keeps this row", { cause })
    : new Problem(
      "validation-error",
      `Cannot ${access}: a value is missing or not allowed`,
      { cause },
    );
}

function unavailable(detail: string, cause: unknown): Problem {
  return new Problem("database-unavailable", detail, { cause, headers: { "retry-after": "1" } });
}

/** An update can break a reference from the row, or a reference of another row to it. */
function brokenReference(access: string): string {
  if (access === "create") return "there is no row that this one refers to";
  if (access === "delete") return "another row refers to this one";
  return "it would leave a reference without its row";
}

import { Problem, type ProblemOptions } from "../problem/problem.ts";
import type { ProblemSlug } from "../protocol/problem_codes.ts";
import { unreachable } from "../problem/unreachable.ts";
import { DatabaseError } from "./database_error.ts";

/**
 * Returns the problem that a client receives for a database error, in fixed words without SQL,
 * constraints or values. If a trigger or a function raised a message on purpose, the client
 * receives that message instead. Any other error is returned unchanged.
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
      // No SQL of a read computes with values from the request, so the request is not the cause.
      if (access === "read" && error.raised === null) return error;
      // The request of a delete contains no values, so the problem cannot ask for other ones.
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
const tooLarge = "the answer is too large. Request a smaller page, or fewer fields";
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
  // Either another row would lose a required reference, or a database rule protects the row.
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

import { isAsDescribed } from "../../db/tables/check_tables.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { databaseProblem } from "../../db/database_problem.ts";
import { Problem } from "../../problem/problem.ts";
import type { Resource } from "../model/resource.ts";

/**
 * Returns the problem of a database whose tables have changed since the service read them, or null
 * for every other error. Compares only the tables of the request. A hook's statement with a wrong
 * column name causes the same database error, but that is a fault of the service.
 */
export async function findSchemaChange(
  error: unknown,
  { table, driver, relations, identityOf }: Resource,
): Promise<Problem | null> {
  if (!(error instanceof DatabaseError) || error.kind !== "other") return null;
  const related = [...relations.values()].flatMap(({ steps }) => steps.map((step) => step.table));
  try {
    for (const known of new Set([table, ...related])) {
      if (!await isAsDescribed({ table: known, driver })) {
        return schemaChangedProblem(missing, error);
      }
    }
    return null;
  } catch (failure) {
    // With `actAs`, the role of a user may not be allowed to read the definition of a table.
    if (identityOf !== null) return null;
    throw databaseProblem(failure, "read");
  }
}

const missing = "The database no longer has a table or a column as the service knows it";

/** Returns the problem of a request that the client can retry with the current tables. */
export function schemaChangedProblem(detail: string, cause?: unknown): Problem {
  return new Problem("schema-changed", detail, { cause, headers: { "retry-after": "1" } });
}

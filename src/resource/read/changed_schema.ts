import { isAsDescribed } from "../../db/tables/check_tables.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { databaseProblem } from "../../db/database_problem.ts";
import { Problem } from "../../problem/problem.ts";
import type { Resource } from "../model/resource.ts";

/**
 * Returns the problem of a database whose tables have changed since the service read them, or null
 * for every other error. The function compares the tables of the request. A hook's statement with a
 * wrong column name fails in the same way, but that is a fault of the service.
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
    // The role of a user may lack the right to look at a table.
    if (identityOf !== null) return null;
    throw databaseProblem(failure, "read");
  }
}

const missing = "The database no longer has a table or a column as the service knows it";

/** Returns the problem of a request that can be retried after the tables have been read again. */
export function schemaChangedProblem(detail: string, cause?: unknown): Problem {
  return new Problem("schema-changed", detail, { cause, headers: { "retry-after": "1" } });
}

import { DatabaseError } from "../../db/database_error.ts";
import { Problem } from "../../problem/problem.ts";
import { type MaybePromise, recovered } from "../../runtime/maybe_promise.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { ResourceRequest } from "../model/operation.ts";

/**
 * Runs an operation on a table with enums of the database. An operation that is refused for a value
 * runs once more if the enums have other labels now.
 */
export function withFreshLabels<Result>(
  refreshLabels: NonNullable<TableInfo["refreshLabels"]>,
  { code }: ResourceRequest,
  run: () => MaybePromise<Result>,
): MaybePromise<Result> {
  // A transaction of code may hold the only connection.
  if ((code?.within ?? null) !== null) return run();
  return recovered(run, async (error) => {
    if (mayBeLabel(error) && await refreshLabels()) return await run();
    throw error;
  });
}

/** Returns true if an operation was refused as for a value that is no label of an enum. */
function mayBeLabel(error: unknown): boolean {
  if (error instanceof DatabaseError) return error.kind === "invalid-value";
  return error instanceof Problem &&
    ["filter-parse-error", "invalid-parameter", "validation-error"].includes(error.slug);
}

import { DatabaseError } from "../../db/database_error.ts";
import { Problem } from "../../problem/problem.ts";
import { catching, type MaybePromise } from "../../runtime/maybe_promise.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { ResourceRequest } from "../model/operation.ts";

/** Runs an operation, again if a value is rejected and the labels of enums have changed. */
export function withFreshLabels<Result>(
  refreshLabels: NonNullable<TableInfo["refreshLabels"]>,
  { code }: ResourceRequest,
  run: () => MaybePromise<Result>,
): MaybePromise<Result> {
  // Does not read the enums again, because a transaction of code may hold the only connection.
  if ((code?.within ?? null) !== null) return run();
  return catching(run, async (error) => {
    if (mayBeLabel(error) && await refreshLabels()) return await run();
    throw error;
  });
}

/** Returns true if the cause of the error can be a value that is no known label of an enum. */
function mayBeLabel(error: unknown): boolean {
  if (error instanceof DatabaseError) return error.kind === "invalid-value";
  return error instanceof Problem &&
    ["filter-parse-error", "invalid-parameter", "validation-error"].includes(error.slug);
}

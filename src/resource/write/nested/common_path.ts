import { DatabaseError, databaseProblem } from "../../../db/database_error.ts";
import { Problem } from "../../../problem/problem.ts";
import type { BodyPath, RelatedWrite } from "../../model/operation.ts";
import { atBodyPath, wholeBody } from "../values/batch_items.ts";

/** Returns the longest path in a body that contains all these rows. */
export function commonBodyPath(bodyPaths: readonly BodyPath[]): BodyPath {
  const [first, another] = bodyPaths;
  if (first !== undefined && another === undefined) return first;
  const path = commonPath(bodyPaths);
  return path === null ? wholeBody : { path, details: { path } };
}

/**
 * Returns the error of a step as a problem with the common path of its rows, because an error of
 * one statement for many rows does not name the row. A retryable error is returned unchanged.
 */
export function problemAtPath(
  error: unknown,
  access: RelatedWrite["access"],
  bodyPaths: readonly BodyPath[],
): unknown {
  if (!(error instanceof DatabaseError) || error.kind === "retryable") return error;
  const problem = databaseProblem(error, access);
  const path = commonPath(bodyPaths);
  const hasPath = problem instanceof Problem && problem.status < 500 && path !== null;
  return hasPath ? atBodyPath(problem, { path, details: { path } }) : error;
}

/** Returns the path that nested rows share: `albums` for `albums.0` and `albums.1`. */
function commonPath([first, ...others]: readonly BodyPath[]): string | null {
  if (first?.details["path"] === undefined) return null;
  const shared = first.path.split(".");
  for (const { path } of others) {
    const names = path.split(".");
    const end = shared.findIndex((name, index) => name !== names[index]);
    if (end >= 0) shared.length = end;
  }
  return shared.length === 0 ? null : shared.join(".");
}

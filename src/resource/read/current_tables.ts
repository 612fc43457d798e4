import { nameOfItem, splitNames } from "../../filter/syntax/quoted_name.ts";
import { parseKey } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import { catching, type MaybePromise } from "../../runtime/maybe_promise.ts";
import type { ResourceRequest } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";
import { schemaChangedProblem } from "./changed_schema.ts";

/** An operation on a table that other programs can change. */
export interface OperationOnTable<Result> {
  readonly name: string;
  readonly request: ResourceRequest;
  readonly resource: Resource;
  run(): MaybePromise<Result>;
}

/**
 * Runs an operation. If the service rejects the operation or ignores a field, it first checks if
 * the tables have changed since startup. In that case the operation fails with a 503, and a retry
 * of the client uses the new tables.
 */
export function withCurrentTables<Result>(
  tablesChanged: () => Promise<boolean>,
  { name, request, resource, run }: OperationOnTable<Result>,
): MaybePromise<Result> {
  // Does not read the tables again: a transaction of code may hold the only connection, and an
  // import may have written rows already.
  if ((request.code?.within ?? null) !== null || name === "import") return run();
  const checked = () =>
    catching(run, async (error) => {
      if (isRefusal(error, request, resource) && await tablesChanged()) {
        throw schemaChangedProblem(changedByOther, error);
      }
      throw error;
    });
  const mayDrop = hasGenerated(request.body, resource) ||
    selectsUnknown(request.query.get("select"), resource);
  if (!mayDrop) return checked();
  return tablesChanged().then((isChanged) => {
    if (isChanged) throw schemaChangedProblem(changedByOther);
    return checked();
  });
}

/** Returns true if the request could be valid for newer tables, e.g. if its id is invalid. */
function isRefusal(error: unknown, { segment }: ResourceRequest, { table }: Resource): boolean {
  if (!(error instanceof Problem)) return false;
  const { status } = error;
  return status === 400 || status === 422 ||
    status === 404 && segment !== "" && parseKey(segment, table) === null;
}

const changedByOther =
  "Another program has changed the tables of the database, and nothing was written";

/** Returns true if `select` contains unknown names. A new column could have such a name. */
function selectsUnknown(select: string | undefined, { table: { byName } }: Resource): boolean {
  return select !== undefined && !splitNames(select).every((name) => byName.has(nameOfItem(name)));
}

/** Returns true if a body sets a generated column, because it could now be an ordinary column. */
function hasGenerated(body: unknown, { table: { columns } }: Resource): boolean {
  if (typeof body !== "object" || body === null) return false;
  const generated = columns.filter((column) => column.generated);
  return generated.length > 0 && isAnyNamed(generated.map(({ name }) => name), body, 3);
}

/** Returns true if a member of `part` has one of the names, at most `depth` levels deep. */
function isAnyNamed(names: readonly string[], part: unknown, depth: number): boolean {
  if (typeof part !== "object" || part === null || depth === 0) return false;
  return names.some((name) => Object.hasOwn(part, name)) ||
    Object.values(part).some((value) => isAnyNamed(names, value, depth - 1));
}

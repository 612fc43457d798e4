import { and, comparison } from "../../filter/filter.ts";
import { hasUnchangedInput } from "../../plan/given_value.ts";
import { equalOperator } from "../../filter/operators/value_operators.ts";
import type { Assignments } from "../../plan/plan.ts";
import type { Row } from "../../schema/table_info.ts";
import { integerVersionOf } from "../http/etag.ts";
import type { WriteCall } from "../model/operation.ts";
import { inTransaction } from "./transaction/in_transaction.ts";
import { type RowTarget, writableTarget } from "./row_target.ts";
import { nextVersion, withMoments } from "./row_version.ts";
import { updateReturning } from "./update_row.ts";

/**
 * Updates the row of the request in one statement, without reading it first. The update needs an
 * `If-Match` with one version, and no transaction for a scope, a hook, a time of update, a search
 * index or a stored response. Returns null if these conditions do not hold, or if no row has the
 * version. Then {@link updateRow} determines the reason.
 */
export async function updateAtVersion(
  target: RowTarget,
  set: Assignments,
  write: WriteCall & { readonly record: unknown },
): Promise<Row | null> {
  const { resource, grant, record } = write;
  const { etag, hooks } = resource;
  const field = etag?.versionField ?? null;
  if (field === null || etag === null || etag.updatedAtField !== null || record !== null) {
    return null;
  }
  const isUnscoped = grant.rows.kind === "all" && grant.visible.kind === "all";
  if (!isUnscoped || hooks.onAfterUpdate !== undefined || set.has(field)) return null;
  if (resource.indexers.length > 0 || hasUnchangedInput(set)) return null;
  const version = integerVersionOf(target.precondition, etag);
  const next = nextVersion(version);
  if (version === null || next === null) return null;
  const where = and(
    writableTarget(target, write),
    comparison(equalOperator, field, [version]),
  );
  const nowMs = resource.runtime.clock.now();
  const counted = withMoments(new Map([...set, [field, next]]), resource, nowMs);
  return await inTransaction<Row | null>(
    { ...write, record: null },
    (connection) => updateReturning(where, counted, resource, connection),
    { isAutocommit: true },
  );
}

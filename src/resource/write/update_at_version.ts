import { and, comparison } from "../../filter/filter.ts";
import { hasEchoedValue } from "../../plan/echoed_value.ts";
import { lessOrEqualOperator } from "../../filter/operators/value_operators.ts";
import { type Assignments, incrementedValue } from "../../plan/plan.ts";
import type { Row } from "../../schema/table_info.ts";
import { integerVersionOf, type Precondition, requirePrecondition } from "../http/etag.ts";
import type { WriteCall } from "../model/operation.ts";
import type { Resource } from "../model/resource.ts";
import { inTransaction } from "./transaction/in_transaction.ts";
import {
  canRequireScope,
  fetchRow,
  mayWriteAlone,
  type RowTarget,
  scopeOfStatement,
  writableTarget,
} from "./row_target.ts";
import { expectedVersion, nextVersion, withTimestamps } from "./row_version.ts";
import { updateReturning } from "./update_row.ts";

/** The largest version to which JavaScript can add 1 exactly. */
const maxVersion = Number.MAX_SAFE_INTEGER - 1;

/**
 * Updates the row of the request in one statement, without reading it first. This is possible with
 * a version column and at most one version in `If-Match`, if the scope, hooks, a time of update,
 * search and idempotency need no transaction. Returns null if these conditions do not hold, or if
 * there is no such row. Then {@link updateRow} determines the reason. Throws a 412 if the row has
 * another version.
 */
export async function updateAtVersion(
  target: RowTarget,
  set: Assignments,
  write: WriteCall & { readonly record: unknown },
): Promise<Row | null> {
  const { resource, record } = write;
  const { etag, hooks } = resource;
  const field = etag?.versionField ?? null;
  if (field === null || etag === null || etag.updatedAtField !== null || record !== null) {
    return null;
  }
  if (hooks.onAfterUpdate !== undefined || set.has(field) || !canRequireScope(write)) return null;
  if (resource.indexers.length > 0 || hasEchoedValue(set)) return null;
  if (!mayWriteAlone(resource)) return null;
  const step = versionStep(target.precondition, set, resource);
  if (step === null) return null;
  const where = and(writableTarget(target, write), step.from);
  const nowMs = resource.runtime.clock.now();
  const counted = withTimestamps(new Map([...set, [field, step.next]]), resource, nowMs);
  const updated = await inTransaction<Row | null>(
    { ...write, record: null },
    (connection) => {
      const scope = scopeOfStatement(write, connection);
      return updateReturning({ where, ...scope }, counted, resource, connection);
    },
    { isAutocommit: true },
  );
  if (updated === null && target.precondition !== null) {
    // Clients often have an old version. The response to them needs no transaction.
    const stored = await fetchRow(writableTarget(target, write), resource, resource.driver);
    if (stored !== null) requirePrecondition(target.precondition, stored, resource);
  }
  return updated;
}

/** Returns how an update checks and increments the version; null if the row must be read first. */
function versionStep(
  precondition: Precondition,
  set: Assignments,
  { etag, driver }: Resource,
) {
  const field = etag?.versionField ?? null;
  if (etag === null || field === null) return null;
  const { checksTypes } = driver.dialect;
  if (precondition !== null) {
    const from = expectedVersion(precondition, { etag });
    // The database adds 1: the version in a wrong precondition can be too large for the column.
    const next = checksTypes ? incrementedValue : nextVersion(integerVersionOf(precondition, etag));
    return from === null || next === null ? null : { from, next };
  }
  // An engine without strict column types does not check that the version is a number.
  return field.kind === "integer" && checksTypes && set.size > 0
    ? { from: comparison(lessOrEqualOperator, field, [maxVersion]), next: incrementedValue }
    : null;
}

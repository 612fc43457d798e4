import type { Connection } from "../../db/driver.ts";
import { fetchRows } from "../../db/rows.ts";
import { comparison } from "../../filter/operators/comparison.ts";
import { allRows, and, type Filter } from "../../filter/filter.ts";
import { rowMatches } from "../../filter/match/row_matches.ts";
import { equalOperator } from "../../filter/operators/value_operators.ts";
import { type Key, keyFilter, keyOf } from "../../plan/key.ts";
import type { Assignments, DeletePlan, UpdatePlan } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import { instantOf } from "../../schema/instant.ts";
import type { Row } from "../../schema/table_info.ts";
import { rowId, runHook, type WriteCall } from "../operation_call.ts";
import { tagOf } from "../http/etag.ts";
import { notFound, notFoundOrForbidden } from "../read/not_found_or_forbidden.ts";
import { preconditionFailed, requirePrecondition } from "../http/precondition.ts";
import type { Resource } from "../define/resource.ts";
import type { RowTarget } from "./row_target.ts";
import { withNextVersion } from "./row_version.ts";
import { requireWithinScope } from "./within_scope.ts";

/** Inserts one row, holds it against the scope and runs the after-hook. */
export async function insertRow(
  values: Assignments,
  write: WriteCall,
  connection: Connection,
): Promise<Row> {
  const { table, reader } = write.resource;
  const rows = [values];
  const columns = [...values.keys()];
  const plan = { kind: "insert" as const, table, columns, rows, returning: table.columns };
  const [row] = (await fetchRows(connection, plan, reader)).rows;
  // A trigger of a foreign table may drop what is inserted, without an error.
  if (row === undefined) {
    throw new Problem("validation-error", "Cannot create: the database did not keep the row");
  }
  await requireWithinScope(write, [keyOf(row, table)], connection);
  await afterHook("onAfterCreate", row, write, connection);
  return row;
}

/**
 * Changes one row and gives it back. A row that the caller may not know of is a 404, one outside
 * the scope, before or after the change, a 403, one in another state than expected a 412.
 */
export async function updateRow(
  target: RowTarget,
  set: Assignments,
  write: WriteCall,
  connection: Connection,
): Promise<Row> {
  const { resource } = write;
  const where = reachable(target, write);
  const current = resource.etag === null ? null : await lockTarget(target, write, connection);
  return await rewriteRow({ target, current, where, set }, write, connection);
}

/** A row to write anew: `current` is what was looked at, where anybody did. */
interface Rewrite {
  readonly target: RowTarget;
  readonly current: Row | null;
  readonly where: Filter;
  readonly set: Assignments;
}

async function rewriteRow(
  { target, current, where, set }: Rewrite,
  write: WriteCall,
  connection: Connection,
): Promise<Row> {
  const { resource } = write;
  const row = await updateReturning(
    and(where, unchanged(current, resource)),
    withNextVersion(set, current, resource),
    resource,
    connection,
  );
  if (row === null) throw await lostRow(target, current, write, connection);
  await requireWithinScope(write, [target.key], connection);
  await afterHook("onAfterUpdate", row, write, connection);
  return row;
}

/** Deletes one row, or marks it deleted. Fails like {@link updateRow}. */
export async function deleteRow(
  target: RowTarget,
  write: WriteCall,
  connection: Connection,
): Promise<void> {
  const { resource } = write;
  const current = target.precondition === null ? null : await lockTarget(target, write, connection);
  const where = and(reachable(target, write), unchanged(current, resource));
  const { changed } = await connection.query(resource.reader.compile(deletePlan(where, resource)));
  if (changed === 0) throw await lostRow(target, current, write, connection);
  await afterDelete(target.key, write, connection);
}

/** What DELETE does to rows: it takes them away, or marks them. */
export function deletePlan(where: Filter, resource: Resource): DeletePlan | UpdatePlan {
  const { softDelete, table, runtime } = resource;
  if (softDelete === null) return { kind: "delete", table, where };
  const set = new Map([[softDelete.field, softDelete.mark(instantOf(runtime.clock.now()))]]);
  return { kind: "update", table, where, set, returning: [] };
}

/** Takes the mark of deletion from a row. A row that is not marked is a 409. */
export async function restoreRow(
  target: RowTarget,
  write: WriteCall,
  connection: Connection,
): Promise<Row> {
  const { resource, grant } = write;
  const { softDelete, table } = resource;
  if (softDelete === null) throw notFound(resource, target.segment);
  const where = and(keyFilter(target.key, table), grant.visible, grant.rows);
  const current = await readRow(where, resource, connection);
  if (current === null) throw await notFoundOrForbidden(target, write, connection, allRows);
  requirePrecondition(target.precondition, current, resource);
  if (rowMatches(softDelete.live, current)) {
    throw new Problem(
      "conflict",
      `Cannot restore ${target.segment.slice(0, 100)}: it is not deleted`,
    );
  }
  const set = new Map([[softDelete.field, softDelete.unmarked]]);
  return await rewriteRow({ target, current, where, set }, write, connection);
}

/**
 * The stored row, locked until the transaction ends, after it was held against the precondition.
 * Throws 404, 403 or 412.
 */
export async function lockTarget(
  target: RowTarget,
  write: WriteCall,
  connection: Connection,
): Promise<Row> {
  const row = await readRow(reachable(target, write), write.resource, connection);
  if (row === null) throw await notFoundOrForbidden(target, write, connection);
  requirePrecondition(target.precondition, row, write.resource);
  return row;
}

/** The row of the target, as far as the right reaches. */
function reachable(target: RowTarget, { resource, grant }: WriteCall): Filter {
  return and(keyFilter(target.key, resource.table), resource.live, grant.visible, grant.rows);
}

async function readRow(
  where: Filter,
  { table, reader }: Resource,
  connection: Connection,
): Promise<Row | null> {
  const { rows } = await fetchRows(connection, {
    kind: "read",
    table,
    columns: table.columns,
    where,
    order: [],
    after: null,
    limit: null,
    lock: true,
  }, reader);
  return rows[0] ?? null;
}

/** A change of nothing is allowed and answers with the row as it stands. */
export async function updateReturning(
  where: Filter,
  set: Assignments,
  resource: Resource,
  connection: Connection,
): Promise<Row | null> {
  if (set.size === 0) return await readRow(where, resource, connection);
  const { table, reader } = resource;
  const plan = { kind: "update" as const, table, set, where, returning: table.columns };
  return (await fetchRows(connection, plan, reader)).rows[0] ?? null;
}

/** The swap half of compare-and-swap: the stored version is still the one that was looked at. */
function unchanged(current: Row | null, { etag }: Resource): Filter {
  const field = etag?.versionField ?? etag?.updatedAtField ?? null;
  const value = field === null ? null : current?.[field.name] ?? null;
  return field === null || value === null ? allRows : comparison(equalOperator, field, [value]);
}

/** Why a write met no row: it was looked at and has changed since, or could not be reached. */
async function lostRow(
  target: RowTarget,
  current: Row | null,
  write: WriteCall,
  connection: Connection,
): Promise<Error> {
  const { etag } = write.resource;
  return current === null || etag === null
    ? await notFoundOrForbidden(target, write, connection)
    : preconditionFailed(tagOf(current, etag));
}

/** Runs the after-hook of a row that was written. */
export async function afterHook(
  name: "onAfterCreate" | "onAfterUpdate",
  row: Row,
  write: WriteCall,
  connection: Connection,
): Promise<void> {
  const { hooks } = write.resource;
  if (hooks[name] !== undefined) {
    await runHook(write, connection, (context) => hooks[name]?.(context, row));
  }
}

/** Runs the after-hook of a row that was deleted. */
export async function afterDelete(
  key: Key,
  write: WriteCall,
  connection: Connection,
): Promise<void> {
  const { hooks } = write.resource;
  if (hooks.onAfterDelete !== undefined) {
    await runHook(write, connection, (context) => hooks.onAfterDelete?.(context, rowId(key)));
  }
}

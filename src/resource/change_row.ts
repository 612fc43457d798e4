import type { Grant } from "../auth/authorize.ts";
import type { Connection } from "../db/driver.ts";
import { fetchCount, fetchRows } from "../db/rows.ts";
import { transact } from "../db/transact.ts";
import { and, type Filter } from "../filter/filter.ts";
import { type Key, keyFilter, parseKey } from "../plan/key.ts";
import type { Assignments } from "../plan/plan.ts";
import { Problem } from "../problem/problem.ts";
import type { Row } from "../schema/table_info.ts";
import { kindOf } from "../schema/kinds.ts";
import { type KeyIntent, notFound } from "./not_found.ts";
import type { Resource } from "./resource.ts";
import { requireWithin } from "./within_scope.ts";

/** What a PATCH or PUT wants: which row, and the new values of some of its columns. */
export interface ChangeIntent extends KeyIntent {
  readonly set: Assignments;
}

/** One row to change, under a right. */
export interface ChangePlan {
  readonly segment: string;
  readonly key: Key;
  readonly set: Assignments;
  readonly grant: Grant;
}

/** The id and the values of a change. Throws a 422 for a body that would re-key the row. */
export function changeIntent(
  segment: string,
  values: ReadonlyMap<Resource["table"]["columns"][number], unknown>,
  resource: Resource,
): ChangeIntent {
  const key = parseKey(segment, resource.table);
  const set = new Map(values);
  resource.table.primaryKey.forEach((column, index) => {
    const given = set.get(column);
    if (set.has(column) && key !== null && kindOf(column.kind).compare?.(given, key[index]) !== 0) {
      throw new Problem(
        "validation-error",
        `Cannot use this body: ${column.name} is not the path's`,
        {
          details: { errors: [{ path: column.name, message: "must be the id of the path" }] },
        },
      );
    }
    set.delete(column);
  });
  return { segment, key, set };
}

/** The plan of a change. An id that names no possible row is a 404. */
export function changePlan(intent: ChangeIntent, grant: Grant, resource: Resource): ChangePlan {
  if (intent.key === null) throw notFound(resource, intent.segment);
  return { segment: intent.segment, key: intent.key, set: intent.set, grant };
}

/**
 * Changes one row and gives it back. A row that the caller may not know of is a 404, one outside
 * the scope, before or after the change, a 403.
 */
export function changeRow(plan: ChangePlan, resource: Resource): Promise<Row> {
  const { grant } = plan;
  if (grant.rows.kind === "all" && grant.visible.kind === "all") {
    return writeChange(plan, resource.driver, resource);
  }
  return transact(resource.driver, async (connection) => {
    const row = await writeChange(plan, connection, resource);
    await requireWithin(grant, row, connection, resource);
    return row;
  });
}

/** Why a write met no row: 404 when its existence may not be admitted, else 403. */
export async function missedRow(
  plan: { readonly key: Key; readonly segment: string; readonly grant: Grant },
  connection: Connection,
  resource: Resource,
): Promise<Problem> {
  const { grant, key, segment } = plan;
  if (grant.rows.kind === "all") return notFound(resource, segment);
  const { table } = resource;
  const where = and(grant.visible, keyFilter(key, table));
  const found = await fetchCount(
    connection,
    { kind: "count", table, where },
    resource.reader,
  );
  return found === 0
    ? notFound(resource, segment)
    : new Problem("forbidden", `Cannot ${grant.access}: the row lies outside your scope`);
}

/** The row with this key, as far as the right reaches. */
export function reachable(key: Key, grant: Grant, resource: Resource): Filter {
  return and(keyFilter(key, resource.table), grant.visible, grant.rows);
}

async function writeChange(
  plan: ChangePlan,
  connection: Connection,
  resource: Resource,
): Promise<Row> {
  const { table, reader } = resource;
  const where = reachable(plan.key, plan.grant, resource);
  // A change of nothing is allowed and answers with the row as it stands.
  const { rows } = plan.set.size === 0
    ? await fetchRows(connection, {
      kind: "read",
      table,
      columns: table.columns,
      where,
      order: [],
      after: null,
      limit: null,
    }, reader)
    : await fetchRows(connection, {
      kind: "update",
      table,
      set: plan.set,
      where,
      returning: table.columns,
    }, reader);
  const [row] = rows;
  if (row === undefined) throw await missedRow(plan, connection, resource);
  return row;
}

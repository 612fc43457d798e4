import type { Connection } from "../../db/driver.ts";
import { fetchRows } from "../../db/rows.ts";
import { and, type Filter } from "../../filter/filter.ts";
import { reachesTable } from "../../filter/related_terms.ts";
import { hasEchoedValue } from "../../plan/echoed_value.ts";
import { changedValues, resolveUnchanged } from "./values/echoed_values.ts";
import type { Assignments, UpdatePlan } from "../../plan/plan.ts";
import type { Row } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";
import type { WriteCall } from "../model/operation.ts";
import { wholeBody } from "./values/body_path.ts";
import { toFailedWrite } from "./refused/failed_write.ts";
import type { WriteConnection } from "./transaction/in_transaction.ts";
import {
  lockRow,
  lockTarget,
  requireWithinScope,
  type RowTarget,
  scopeOfStatement,
  scopeProblem,
  severalRows,
  targetNotWritten,
  writableTarget,
} from "./row_target.ts";
import { readAgain } from "./read_rows_to_write.ts";
import { requireChangedRows } from "./require_new_rows.ts";
import { sameVersion, withNextVersion } from "./row_version.ts";
import { afterWrite } from "./run_hooks.ts";

export interface PathUpdate {
  readonly target: RowTarget;
  readonly set: Assignments;
  /** True if the stored row must be read first, so that the update sets only changed values. */
  readonly readsFirst: boolean;
}

/**
 * Updates the requested row and returns it. Throws a 404 if the user may not see the row, a 412 if
 * it has changed, and a 403 if it is outside the scope before or after the update.
 */
export async function updateRow(
  { target, set, readsFirst }: PathUpdate,
  write: WriteCall,
  connection: WriteConnection,
): Promise<Row> {
  const { resource } = write;
  const where = writableTarget(target, write);
  const isRead = readsFirst || resource.etag !== null || hasEchoedValue(set) ||
    reachesTable(write.grant.rows, resource.table);
  const current = isRead ? await lockTarget(target, write, connection) : null;
  const values = current === null ? set : resolveUnchanged(current, set, resource);
  return await updateIfSameVersion({ target, current, where, set: values }, write, connection);
}

/** An update of one row. `current` is the row as it was read before, or null. */
export interface RowUpdate {
  readonly target: RowTarget;
  readonly current: Row | null;
  readonly where: Filter;
  readonly set: Assignments;
}

/** Updates a row if it still has the version of `current`, and runs the after-hook. */
export async function updateIfSameVersion(
  { target, current, where, set }: RowUpdate,
  write: WriteCall,
  connection: WriteConnection,
): Promise<Row> {
  const { resource } = write;
  const changes = changedValues(withNextVersion(set, current, resource), current, resource);
  const scope = changes.size === 0 ? {} : scopeOfStatement(write, connection);
  const unchanged = { where: and(where, sameVersion(current, resource)), ...scope };
  const row = await updateReturning(unchanged, changes, resource, connection);
  if (row === null) throw await targetNotWritten(target, current, write, connection);
  if (scope.within === undefined) await requireWithinScope(write, [target.key], connection);
  if (current !== null && reachesTable(write.grant.rows, resource.table)) {
    await requireChangedRows([{ current, values: changes }], write, connection);
  }
  const isFinal = resource.hooks.onAfterUpdate === undefined;
  connection.noteWritten([target.key], resource, isFinal ? [row] : null);
  await afterWrite("onAfterUpdate", row, write, connection);
  return row;
}

/** Runs the UPDATE of one row and returns the row. If there are no values, only reads the row. */
export async function updateReturning(
  { where, within }: Pick<UpdatePlan, "where" | "within">,
  set: Assignments,
  resource: Resource,
  connection: Connection,
): Promise<Row | null> {
  if (set.size === 0) return await lockRow(where, resource, connection);
  const { table, reader, stored: returning } = resource;
  const plan = { kind: "update" as const, table, set, where, returning };
  try {
    const { rows } = await fetchRows(
      connection,
      within === undefined ? plan : { ...plan, within },
      reader,
    );
    if (rows.length > 1) throw severalRows("update");
    const isRead = rows.length === 1 && table.view?.isTriggered === true;
    return (isRead ? await readAgain(rows, resource, connection) : rows)[0] ?? null;
  } catch (error) {
    throw toFailedWrite(
      scopeProblem(error, "update"),
      resource,
      () => [{ ...wholeBody, values: set }],
    );
  }
}

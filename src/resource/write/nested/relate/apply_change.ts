import { chunksOf, keyId, keyOf, keysFilter } from "../../../../plan/key.ts";
import type { Assignments } from "../../../../plan/plan.ts";
import { Problem } from "../../../../problem/problem.ts";
import { DatabaseError } from "../../../../db/database_error.ts";
import type { Row } from "../../../../schema/table_info.ts";
import type { Resource } from "../../../model/resource.ts";
import { atBodyPath, atPathAsync } from "../../values/batch_items.ts";
import { deleteLockedRows } from "../../update_and_delete.ts";
import type { WriteConnection } from "../../transaction/in_transaction.ts";
import { insertRows, requireChangedRows } from "../../insert_rows.ts";
import { requireWithinScope, RowsChanged } from "../../row_target.ts";
import { afterWrite } from "../../run_hooks.ts";
import { groupSharedUpdates, updateByKeys } from "../../update_locked_rows.ts";
import { slicesOf } from "../../read_rows_to_write.ts";
import { commonBodyPath, insertLinks, type NestedPlan, nestedWriteCall } from "../nested_plan.ts";
import type { RelateStep } from "../nested_rows.ts";
import { lockRowsOfStep, prepareRelated } from "./prepare_relation_change.ts";
import type { RelatedRow } from "./resolve_children.ts";
import { storedRow, type WriteState } from "../prepare_steps.ts";

/** Locks and changes rows. Throws {@link RowsChanged} if hooks ran for a different set of rows. */
export async function relateRows(
  step: RelateStep,
  state: WriteState,
  connection: WriteConnection,
): Promise<void> {
  const { plan, call, prepared, written } = state;
  const rowOf = (row: Parameters<typeof storedRow>[0]) => storedRow(row, written);
  const { rows, related } = await lockRowsOfStep(step, { rowOf, plan, call, connection });
  for (const [row, stored] of related) written.set(row, stored);
  const known = prepared.changes.get(step);
  const isKnown = known === undefined ||
    known.size === rows.length && rows.every(({ id }) => known.has(id));
  if (!isKnown) throw new RowsChanged(plan.body.access);
  const writes: Write[] = [];
  for (const row of rows) writes.push({ row, values: await valuesOf(row, step, state) });
  if (step.relation.type === "manyToMany") {
    await deleteLinkRows(writes, step, state, connection);
    await insertLinkRows(writes, step, state, connection);
  } else {
    await updateChildren(writes, step, state, connection);
  }
}

interface Write<Kind extends RelatedRow = RelatedRow> {
  readonly row: Kind;
  readonly values: Assignments;
}

/** Returns the values after the before-hook. The hook cannot change the references to rows. */
async function valuesOf(
  row: RelatedRow,
  step: RelateStep,
  { prepared, plan, call }: WriteState,
): Promise<Assignments> {
  const hooked = prepared.changes.get(step)?.get(row.id);
  if (row.kind === "delete") return new Map();
  if (hooked !== undefined) return new Map([...hooked, ...row.values]);
  return row.kind === "update" ? row.values : await prepareRelated(row, step, plan, call);
}

async function updateChildren(
  writes: readonly Write[],
  { target }: RelateStep,
  { plan, call, written }: WriteState,
  connection: WriteConnection,
): Promise<void> {
  const updates = writes.flatMap(({ row, values }) =>
    row.kind === "update" ? [{ row, values }] : []
  );
  if (updates.length === 0) return;
  const write = nestedWriteCall(target, "update", plan, call);
  const { table, hooks } = target;
  const changed = new Map<string, Row>();
  const locked = updates.map(({ row: { current }, values }) => ({ current, values }));
  const paths = updates.map(({ row: { bodyPath } }) => bodyPath);
  const inSlices = slicesOf(target);
  for (const shared of groupSharedUpdates(locked, target, true)) {
    const ids = new Set(shared.keys.map((key) => keyId(key, table)));
    const places = updates.flatMap(({ row: { key, bodyPath } }) =>
      ids.has(keyId(key, table)) ? [bodyPath] : []
    );
    const bodyPath = commonBodyPath(places);
    const update = { ...shared, returning: target.stored, bodyPath, inSlices };
    const { rows } = await updateByKeys(update, target, connection);
    for (const [id, row] of rows) changed.set(id, row);
  }
  const stored = updates.map(({ row: { key, bodyPath } }) => {
    const row = changed.get(keyId(key, table));
    if (row !== undefined) return row;
    // The row is locked, so only a trigger or a rule can have prevented the change.
    const message = "Cannot update: the database did not keep the change";
    throw atBodyPath(new Problem("validation-error", message), bodyPath);
  });
  const keys = updates.map(({ row: { key } }) => key);
  await requireWithinScope(write, keys, connection, paths);
  await requireChangedRows(locked, write, connection, paths);
  connection.noteWritten(keys, target, hooks.onAfterUpdate === undefined ? stored : null);
  for (const [index, { row: { bodyPath, row } }] of updates.entries()) {
    const one = stored[index];
    if (one === undefined) continue;
    if (row !== null) written.set(row, one);
    noteSelf(one, target, plan, written);
    await atPathAsync(bodyPath, () => afterWrite("onAfterUpdate", one, write, connection));
  }
}

/** If the change affects the row in the request's path, stores its new state for the response. */
function noteSelf(
  row: Row,
  { table }: Resource,
  { body, updated }: NestedPlan,
  written: WriteState["written"],
): void {
  const [named] = body.rows;
  if (updated === null || named === undefined || table !== body.resource.table) return;
  if (keyId(keyOf(row, table), table) === keyId(updated.target.key, table)) written.set(named, row);
}

async function deleteLinkRows(
  writes: readonly Write[],
  { relation: { steps: [near, far] }, written: link }: RelateStep,
  { plan, call }: WriteState,
  connection: WriteConnection,
): Promise<void> {
  const links = writes.flatMap(({ row }) => row.kind === "delete" ? [row] : []);
  if (links.length === 0) return;
  if (link !== null) {
    const keys = links.map(({ key }) => key);
    await deleteLockedRows(keys, nestedWriteCall(link, "delete", plan, call), connection);
    return;
  }
  const { resource: { driver, reader } } = call;
  const columns = [...near.other, ...far === undefined ? [] : far.own];
  const keys = links.map(({ current }) => columns.map(({ name }) => current[name]));
  for (const some of chunksOf(keys, Math.floor(driver.dialect.maxValues / columns.length))) {
    const where = keysFilter(some, { primaryKey: columns });
    await connection.query(
      reader.compile({ kind: "delete", table: near.table, where, returning: [] }),
    );
  }
}

async function insertLinkRows(
  writes: readonly Write[],
  { relation: { steps: [{ table }] }, written: link }: RelateStep,
  { plan, call, isLast }: WriteState,
  connection: WriteConnection,
): Promise<void> {
  const links = writes.filter(({ row }) => row.kind === "insert");
  if (links.length === 0) return;
  const rows = links.map(({ values }) => values);
  const paths = links.map(({ row: { bodyPath } }) => bodyPath);
  try {
    if (link === null) await insertLinks(rows, table, call, connection);
    else await insertRows(rows, paths, nestedWriteCall(link, "create", plan, call), connection);
  } catch (error) {
    // Another request may have created these links. The next attempt then finds them.
    const isTaken = error instanceof DatabaseError && error.kind === "unique";
    throw isTaken && !isLast ? new RowsChanged(plan.body.access, error) : error;
  }
}

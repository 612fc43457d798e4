import type { Key } from "../../../../plan/key.ts";
import type { Assignments } from "../../../../plan/plan.ts";
import type { Row } from "../../../../schema/table_info.ts";
import type { RelatedWrite, ResourceCall, WriteCall } from "../../../model/operation.ts";
import { atPathAsync } from "../../values/batch_items.ts";
import { beforeCreate, beforeDelete, beforeUpdate, type HookedRow } from "../../run_hooks.ts";
import { type NestedPlan, nestedWriteCall } from "../nested_plan.ts";
import type { RelateStep } from "../nested_rows.ts";
import { newRowValues, withDefaults } from "../../values/new_row_values.ts";
import type { RelatedRow, RelationLockContext, ResolvedChange } from "./related_row.ts";
import { resolveChildren } from "./resolve_children.ts";
import { resolveLinks } from "./resolve_links.ts";

/** The values of the rows that a change writes, after their before-hooks, by id of the row. */
export type PreparedChange = ReadonlyMap<string, Assignments>;

/** Returns true if rows must be looked up before the transaction, for hooks or for charges. */
export function needsPreparing({ written, relation, changes }: RelateStep): boolean {
  if (written === null) return false;
  const { hooks, protections } = written;
  const removesOthers = changes.some((change) => change.removesOthers !== null);
  if (relation.type !== "manyToMany") {
    return hooks.onBeforeUpdate !== undefined || removesOthers && protections.has("update");
  }
  return hooks.onBeforeCreate !== undefined || hooks.onBeforeDelete !== undefined ||
    removesOthers && protections.has("delete");
}

/** Looks up rows to write, runs their before-hooks, and charges for those not in the body. */
export async function prepareChange(
  step: RelateStep,
  resolving: RelationLockContext,
  charge: (others: RelatedWrite) => Promise<void>,
): Promise<PreparedChange> {
  const { plan, call } = resolving;
  const { rows } = await lockRowsOfStep(step, resolving);
  const places = new Set(step.changes.map(({ removesOthers }) => removesOthers));
  const [first, ...more] = rows.filter(({ bodyPath }) => places.has(bodyPath));
  if (first !== undefined && step.written !== null) {
    const access = first.kind === "delete" ? "delete" : "update";
    const { bodyPath } = first;
    await charge({ resource: step.written, access, count: more.length + 1, bodyPath });
  }
  const values = new Map<string, Assignments>();
  for (const row of rows) {
    const prepare = () => prepareRelated(row, step, plan, call);
    values.set(row.id, await atPathAsync(row.bodyPath, prepare));
  }
  return values;
}

/** Runs the before-hook of a row that a change writes, and returns its values. */
export async function prepareRelated(
  row: RelatedRow,
  { written, relation: { steps: [near] } }: RelateStep,
  plan: NestedPlan,
  call: ResourceCall,
): Promise<Assignments> {
  if (written === null) return row.kind === "insert" ? withDefaults(row.values, near) : new Map();
  switch (row.kind) {
    case "update":
      return await beforeUpdate(
        stored(row),
        row.values,
        nestedWriteCall(written, "update", plan, call),
      );
    case "insert":
      return await prepareCreation(
        new Map(),
        row.values,
        nestedWriteCall(written, "create", plan, call),
      );
    case "delete":
      await beforeDelete(stored(row), nestedWriteCall(written, "delete", plan, call));
      return new Map();
  }
}

function stored({ key, current }: { readonly key: Key; readonly current: Row }): HookedRow {
  return { key, current: () => current };
}

/** Returns the values of a nested row to create, after its before-hook. */
export async function prepareCreation(
  given: Assignments,
  foreignKeys: Assignments,
  write: WriteCall,
): Promise<Assignments> {
  const filled = (values: Assignments) =>
    foreignKeys.size === 0 ? values : new Map([...values, ...foreignKeys]);
  const hooked = await beforeCreate(filled(given), write);
  const complete = newRowValues(filled(hooked), write.grant, write.resource);
  // Hooks and generated values cannot change the rows to which a nested row refers.
  for (const [column, value] of foreignKeys) complete.set(column, value);
  return complete;
}

/** Locks and returns the rows that a step writes. Throws a 422 or 403 that names a body path. */
export async function lockRowsOfStep(
  step: RelateStep,
  resolving: RelationLockContext,
): Promise<ResolvedChange> {
  const resolve = step.relation.type === "manyToMany" ? resolveLinks : resolveChildren;
  const all: ResolvedChange[] = [];
  for (const change of step.changes) all.push(await resolve(step, change, resolving));
  return { rows: all.flatMap(({ rows }) => rows), related: all.flatMap(({ related }) => related) };
}

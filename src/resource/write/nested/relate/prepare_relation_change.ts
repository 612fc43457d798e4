import { chunksOf, type Key, keyId, keyOf, keysFilter } from "../../../../plan/key.ts";
import type { Assignments } from "../../../../plan/plan.ts";
import type { Row } from "../../../../schema/table_info.ts";
import type { RelatedWrite, ResourceCall, WriteCall } from "../../../model/operation.ts";
import { atBodyPath, atPathAsync, batchTooLarge, pathInside } from "../../values/batch_items.ts";
import { beforeCreate, beforeDelete, beforeUpdate, type HookedRow } from "../../run_hooks.ts";
import { findRows, keyOfExistingRow, type NestedPlan, nestedWriteCall } from "../nested_plan.ts";
import type { RelateStep, RelationChange } from "../nested_rows.ts";
import { newRowValues, withDefaults } from "../../values/new_row_values.ts";
import {
  type RelatedRow,
  type RelationLockContext,
  resolveChildren,
  type ResolvedChange,
  rowOutsideScopeProblem,
} from "./resolve_children.ts";
import { fetchRows } from "../../../../db/rows.ts";
import { allRows, and, type Filter, noRows, or } from "../../../../filter/filter.ts";
import type { Relation, RelationStep } from "../../../../schema/relation.ts";
import { canonicalValueText } from "../../../../schema/exact_json.ts";
import type { Resource } from "../../../model/resource.ts";
import { deletionLock, keysPerStatement, readByKeys, readPlan } from "../../read_rows_to_write.ts";
import {
  foreignKeysOf,
  hasForeignKeys,
  keySourcesFrom,
  keySourcesTo,
  linkRow,
  referringRowsFilter,
} from "../foreign_keys.ts";

/** The values of the rows that a change writes, after their before-hooks, by row id. */
export type PreparedChange = ReadonlyMap<string, Assignments>;

/** Returns true if rows must be looked up before the transaction, for hooks or for limits. */
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

/** Looks up rows, runs their before-hooks, and charges the request for rows not in the body. */
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

export async function lockRowsOfStep(
  step: RelateStep,
  resolving: RelationLockContext,
): Promise<ResolvedChange> {
  const resolve = step.relation.type === "manyToMany" ? resolveLinks : resolveChildren;
  const all: ResolvedChange[] = [];
  for (const change of step.changes) all.push(await resolve(step, change, resolving));
  return { rows: all.flatMap(({ rows }) => rows), related: all.flatMap(({ related }) => related) };
}

async function resolveLinks(
  step: RelateStep,
  change: RelationChange,
  resolving: RelationLockContext,
): Promise<ResolvedChange> {
  const { relation, target } = step;
  const { around, connect } = change;
  const { plan, connection } = resolving;
  const ends = await findRows(connect, target, plan.related, connection);
  const endOf = new Map(connect.map((row, index) => [row, ends[index]]));
  const columns = farStep(relation).own;
  const wanted = connect.map((row) => {
    const { bodyPath, ...link } = linkRow(around, row, relation);
    const values = foreignKeysOf(
      { ...link, bodyPath },
      (from) => endOf.get(from) ?? resolving.rowOf(from),
    );
    const end = JSON.stringify(
      columns.map((column) => canonicalValueText(values.get(column), column)),
    );
    return { end, bodyPath, values };
  });
  const links = await readLinks(step, change, resolving);
  const linked = new Set(links.map((link) => endId(link, relation)));
  const kept = new Set(wanted.map(({ end }) => end));
  const removed = links.filter((link) => !kept.has(endId(link, relation)));
  return {
    rows: [
      ...await removedLinks(removed, step, change, resolving),
      ...wanted.filter(({ end }) => !linked.has(end)).map(({ bodyPath, values }): RelatedRow => ({
        ...{ kind: "insert", id: `insert ${bodyPath.path}`, bodyPath, values },
      })),
    ],
    related: connect.flatMap((row): ResolvedChange["related"] => {
      const end = endOf.get(row);
      return end === undefined ? [] : [[row, end]];
    }),
  };
}

function farStep({ name, steps: [, far] }: Relation): RelationStep {
  if (far === undefined) throw new Error(`The relation "${name}" has no link table`);
  return far;
}

function endId(link: Row, relation: Relation): string {
  const columns = farStep(relation).own;
  return JSON.stringify(columns.map((column) => canonicalValueText(link[column.name], column)));
}

/** Returns the visible links to rows in the body or, if the body has `set`, all visible links. */
async function readLinks(
  { relation, relation: { steps: [near] }, target, written: link }: RelateStep,
  { around, connect, disconnect, removesOthers }: RelationChange,
  resolving: RelationLockContext,
): Promise<readonly Row[]> {
  const { plan, call, connection } = resolving;
  const right = plan.related.get(target);
  const named = [...connect, ...disconnect].map((row) => keyOfExistingRow(row, target));
  if (right === undefined || removesOthers === null && named.length === 0) return [];
  const { table } = near;
  const source = {
    foreignKeySources: keySourcesFrom(around, near.pairs),
    bodyPath: around.bodyPath,
  };
  const keys = foreignKeysOf(source, (row) => resolving.rowOf(row));
  const ends = removesOthers !== null
    ? [allRows]
    : chunksOf(named, keysPerStatement(target)).map((some) => keysFilter(some, target.table));
  const limit = link?.batch.delete ?? target.batch.create;
  const { reader } = link ?? call.resource;
  const found: Row[] = [];
  for (const end of ends) {
    const filter = and(right.rows, target.undeleted, end);
    const related = {
      kind: "related" as const,
      relation: toEnds(relation),
      filter,
      links: allRows,
    };
    const where = and(referringRowsFilter(keys), visibleLinks(link, resolving), related);
    const read = readPlan(table, link?.stored ?? table.columns, where);
    const { rows } = await fetchRows(
      connection,
      { ...read, limit: limit + connect.length + 1 },
      reader,
    );
    found.push(...rows);
  }
  if (found.length <= limit + connect.length) return found;
  const bodyPath = removesOthers ?? around.bodyPath;
  throw atBodyPath(batchTooLarge(limit, `${relation.name} has more links`), bodyPath);
}

function toEnds({ name, target, filterable, steps: [near, far] }: Relation): Relation {
  if (far === undefined) throw new Error(`The relation "${name}" has no link table`);
  const owner = near.table;
  return { name, owner, target, filterable, type: "belongsTo", toMany: false, steps: [far] };
}

function visibleLinks(link: Resource | null, { plan }: RelationLockContext): Filter {
  if (link === null) return allRows;
  const read = plan.related.get(link)?.rows ?? noRows;
  const removed = plan.written.get("delete")?.get(link)?.visible ?? noRows;
  return and(or(read, removed), link.undeleted);
}

async function removedLinks(
  links: readonly Row[],
  { relation, relation: { steps: [near] }, written: link }: RelateStep,
  { around, disconnect, removesOthers }: RelationChange,
  { plan, call, connection }: RelationLockContext,
): Promise<readonly RelatedRow[]> {
  if (links.length === 0) return [];
  const { table } = near;
  const far = farStep(relation);
  const named = disconnect.map(({ given, ...row }) => ({
    bodyPath: row.bodyPath,
    keys: foreignKeysOf(
      { bodyPath: row.bodyPath, foreignKeySources: keySourcesTo({ ...row, given }, far.pairs) },
      () => Object.fromEntries([...given].map(([column, value]) => [column.name, value])),
    ),
  }));
  const removed = links.map((current): RelatedRow => ({
    kind: "delete",
    id: `delete ${link === null ? endId(current, relation) : keyId(keyOf(current, table), table)}`,
    bodyPath: named.find(({ keys }) => hasForeignKeys(current, keys))?.bodyPath ?? removesOthers ??
      pathInside(around.bodyPath, `${relation.name}.disconnect`),
    key: keyOf(current, table),
    current,
  }));
  if (link === null) return removed;
  const { grant } = nestedWriteCall(link, "delete", plan, call);
  const keys = links.map((current) => keyOf(current, table));
  const what = { keys, columns: table.primaryKey };
  const locked = await readByKeys(
    { ...what, where: link.undeleted, ...deletionLock(link) },
    link,
    connection,
  );
  const within = grant.rows.kind === "all"
    ? locked
    : await readByKeys({ ...what, where: grant.rows }, link, connection);
  return removed.filter(({ bodyPath }, index) => {
    const id = keyId(keys[index] ?? [], table);
    if (locked.has(id) && !within.has(id)) throw rowOutsideScopeProblem("delete", bodyPath);
    return locked.has(id);
  });
}

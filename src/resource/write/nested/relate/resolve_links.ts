import { fetchRows } from "../../../../db/rows.ts";
import { allRows, and, type Filter, noRows, or } from "../../../../filter/filter.ts";
import { chunksOf, keyId, keyOf, keysFilter } from "../../../../plan/key.ts";
import type { Relation, RelationStep } from "../../../../schema/relation.ts";
import { canonicalValueText } from "../../../../schema/exact_json.ts";
import type { Row } from "../../../../schema/table_info.ts";
import type { Resource } from "../../../model/resource.ts";
import { atBodyPath, batchTooLarge, pathInside } from "../../values/batch_items.ts";
import { deletionLock, keysPerStatement, readByKeys, readPlan } from "../../read_rows_to_write.ts";
import {
  foreignKeysOf,
  hasForeignKeys,
  keySourcesFrom,
  keySourcesTo,
  linkRow,
  referringRowsFilter,
} from "../foreign_keys.ts";
import { findRows, keyOfExistingRow, nestedWriteCall } from "../nested_plan.ts";
import type { RelateStep, RelationChange } from "../nested_rows.ts";
import {
  type RelatedRow,
  type RelationLockContext,
  type ResolvedChange,
  rowOutsideScopeProblem,
} from "./related_row.ts";
import type { BodyPath } from "../../../model/operation.ts";

/** Determines which links a change inserts and deletes, and locks the links to delete. */
export async function resolveLinks(
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

/** Returns a string that identifies the row to which a link leads, within one relation. */
function endId(link: Row, relation: Relation): string {
  const columns = farStep(relation).own;
  return JSON.stringify(columns.map((column) => canonicalValueText(link[column.name], column)));
}

/**
 * Returns the links of the enclosing row that a change can affect: with `set`, all links, and
 * otherwise the links to the rows that the change names. The user must be able to see both the link
 * and the row. Throws a 400 for too many links.
 */
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

/** Returns a filter for the links that the user can see. Without a resource, all links match. */
function visibleLinks(link: Resource | null, { plan }: RelationLockContext): Filter {
  if (link === null) return allRows;
  const read = plan.related.get(link)?.rows ?? noRows;
  const removed = plan.written.get("delete")?.get(link)?.visible ?? noRows;
  return and(or(read, removed), link.undeleted);
}

/** Returns the locked links to delete. Throws a 403 for a link that the user cannot delete. */
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
  const placeOf = (current: Row): BodyPath =>
    named.find(({ keys }) => hasForeignKeys(current, keys))?.bodyPath ?? removesOthers ??
      pathInside(around.bodyPath, `${relation.name}.disconnect`);
  const removed = links.map((current): RelatedRow => ({
    kind: "delete",
    id: `delete ${link === null ? endId(current, relation) : keyId(keyOf(current, table), table)}`,
    bodyPath: placeOf(current),
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

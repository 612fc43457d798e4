import type { Grant } from "../../auth/authorize.ts";
import { and, noRows } from "../../filter/filter.ts";
import { nameOfItem, readQuotedName } from "../../filter/syntax/quoted_name.ts";
import type { RelatedColumn } from "../../plan/plan.ts";
import { didYouMean } from "../../problem/nearest_name.ts";
import { Problem } from "../../problem/problem.ts";
import { isSortable } from "../../schema/structured/kind_of_column.ts";
import type { Resource } from "../model/resource.ts";

/** A key of an order that is a field of the row to which a to-one relation leads. */
export interface RelatedOrder extends Omit<RelatedColumn, "where"> {
  readonly target: Resource;
}

/**
 * Finds the field that `author.name` means in an order. Returns null if the relation leads to
 * several rows or is not filterable, or if the caller cannot read the field or order by it.
 */
export function relatedOrderOf(
  path: string,
  index: number,
  resource: Resource,
): RelatedOrder | null {
  const end = path.startsWith('"') ? readQuotedName(path, 0)?.end ?? 0 : path.indexOf(".");
  // Without a key, positions can be equal, and the database distinguishes them by the table itself.
  if (path.charAt(end) !== "." || !resource.table.distinct) return null;
  const relation = resource.relations.get(nameOfItem(path.slice(0, end)));
  if (relation === undefined || relation.toMany || !relation.filterable) return null;
  const target = resource.served.get(relation.target);
  if (target === undefined) return null;
  const { sortable, readable } = target.fields;
  const known = readable.filter((column) => sortable.has(column) && isSortable(column));
  const field = nameOfItem(path.slice(end + 1));
  const source = known.find(({ name }) => name === field);
  if (source === undefined) {
    // As in an order by own fields, `author.name.desc` is a mistake in the direction.
    if (/[ .](?:asc|desc)$/i.test(path)) return null;
    const hint = didYouMean(field, known.map(({ name }) => name));
    throw new Problem(
      "invalid-parameter",
      `Cannot order by "${path.slice(0, 20)}": it is not a sortable field${hint}`,
    );
  }
  let dbName = `_order${index}`;
  while (resource.table.columns.some((column) => column.dbName === dbName)) dbName = `_${dbName}`;
  const name = `${relation.name}.${source.name}`;
  const column = { ...source, name, dbName, notNull: false, primaryKey: false, references: null };
  return { column, source, relation, target };
}

/** Plans the values of related fields. Rows that the caller cannot read have no values. */
export function planRelatedOrder(
  orders: readonly RelatedOrder[],
  related: ReadonlyMap<Resource, Grant>,
): readonly RelatedColumn[] {
  return orders.map(({ target, ...column }) => {
    const grant = related.get(target);
    return { ...column, where: grant === undefined ? noRows : and(grant.rows, target.undeleted) };
  });
}

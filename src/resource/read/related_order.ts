import type { Grant } from "../../auth/authorize.ts";
import { and, noRows } from "../../filter/filter.ts";
import { nameOfItem, readQuotedName } from "../../filter/syntax/quoted_name.ts";
import type { RelatedColumn } from "../../plan/plan.ts";
import { isSortable } from "../../schema/structured/kind_of_column.ts";
import type { Relation } from "../../schema/relation.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";

/** A key of an order that is a field of the row to which a to-one relation leads. */
export interface RelatedOrder {
  /** The field as a column of the ordered rows. */
  readonly column: ColumnInfo;
  readonly source: ColumnInfo;
  readonly relation: Relation;
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
  const source = target?.table.byName.get(nameOfItem(path.slice(end + 1)));
  if (target === undefined || source === undefined || !isSortable(source)) return null;
  const { sortable, readable } = target.fields;
  if (!sortable.has(source) || !readable.includes(source)) return null;
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
  return orders.map(({ column, source, relation, target }) => {
    const grant = related.get(target);
    const where = grant === undefined ? noRows : and(grant.rows, target.undeleted);
    return { column, source, relation, where };
  });
}

import { and, comparison, type Filter } from "../../../filter/filter.ts";
import { equalOperator } from "../../../filter/operators/operator_registry.ts";
import { type Assignments, databaseDefault } from "../../../plan/plan.ts";
import { canonicalValueText } from "../../../schema/exact_json.ts";
import type { ColumnPairs, Relation } from "../../../schema/relation.ts";
import { kindOfColumn } from "../../../schema/structured/structured_value.ts";
import { type ColumnInfo, isRequired, type Row } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";
import { atBodyPath } from "../values/batch_items.ts";
import { invalidField, mayWrite } from "../values/parse_fields.ts";
import type { ForeignKeySource, NestedRow } from "./nested_rows.ts";

export function keySourcesFrom(from: NestedRow, pairs: ColumnPairs): readonly ForeignKeySource[] {
  return pairs.map(({ own, other }) => ({ column: other, from, source: own }));
}

export function keySourcesTo(from: NestedRow, pairs: ColumnPairs): readonly ForeignKeySource[] {
  return pairs.map(({ own, other }) => ({ column: own, from, source: other }));
}

export function linkRow(from: NestedRow, to: NestedRow, relation: Relation): NestedRow {
  const [near, far] = relation.steps;
  if (far === undefined) throw new Error(`The relation "${relation.name}" has no link table`);
  return {
    bodyPath: to.bodyPath,
    given: new Map(),
    foreignKeySources: [...keySourcesFrom(from, near.pairs), ...keySourcesTo(to, far.pairs)],
    embedded: [],
  };
}

/** Returns foreign keys; unknown values are placeholders. Throws a 422 if rows cannot relate. */
export function foreignKeysOf(
  { foreignKeySources, bodyPath }: Pick<NestedRow, "foreignKeySources" | "bodyPath">,
  rowOf: (row: NestedRow) => Row,
): ReadonlyMap<ColumnInfo, unknown> {
  const unrelated = (message: string) =>
    atBodyPath(invalidField(`cannot be related: ${message}`), bodyPath);
  const filled = new Map<ColumnInfo, unknown>();
  for (const { column, from, source } of foreignKeySources) {
    const stored = rowOf(from)[source.name];
    if (stored === null) throw unrelated("the other row has no value to refer to");
    const value = stored === undefined ? databaseDefault : valueFor(column, stored, source);
    const known = filled.get(column) ?? databaseDefault;
    // The two foreign keys of a link can share a column, in which both referenced rows must agree.
    if (value !== databaseDefault && known !== databaseDefault && !isSame(known, value, column)) {
      throw unrelated(`the rows differ in what "${column.name}" refers to`);
    }
    filled.set(column, value === databaseDefault ? known : value);
  }
  return filled;
}

export function changeableKeys(
  { foreignKeySources }: Pick<NestedRow, "foreignKeySources">,
  foreignKeys: Assignments,
): ReadonlyMap<ColumnInfo, unknown> {
  const fixed = new Set(
    foreignKeySources.flatMap(({ column, isFixed }) => isFixed === true ? [column] : []),
  );
  return new Map([...foreignKeys].filter(([column]) => !fixed.has(column)));
}

export function hasForeignKeys(row: Row, keys: Assignments): boolean {
  return [...keys].every(([column, value]) => hasValue(row, column, value));
}

export function hasValue(row: Row, column: ColumnInfo, value: unknown): boolean {
  const stored = row[column.name] ?? null;
  return stored !== null && value !== databaseDefault && isSame(stored, value, column);
}

export function referringRowsFilter(keys: Assignments): Filter {
  return and(...[...keys].map(([column, value]) => comparison(equalOperator, column, [value])));
}

/** Returns true if a body can set the column in an existing row. Only then can relations set it. */
export function mayChange(column: ColumnInfo, resource: Resource): boolean {
  return !column.primaryKey && mayWrite(column, resource) && !resource.fields.immutable.has(column);
}

/**
 * Returns the foreign key columns that become NULL when a row is disconnected: nullable columns
 * that can change. Omits columns that other relations use (such as a tenant) if a column remains.
 */
export function columnsToClear(
  columns: readonly ColumnInfo[],
  resource: Resource,
): readonly ColumnInfo[] {
  const clearable = columns.filter((column) => !isRequired(column) && mayChange(column, resource));
  const shared = new Set(
    [...resource.relations.values()].map(({ steps: [step] }) => step.own)
      .flatMap((others) => columns.every((column) => others.includes(column)) ? [] : others),
  );
  const own = clearable.filter((column) => !shared.has(column));
  return own.length > 0 ? own : clearable;
}

export const neverNullMessage =
  "cannot be disconnected: its foreign key is never NULL. Delete it, or connect it elsewhere";

export const fixedKeyMessage = "cannot be related: a part of its foreign key cannot change";

/** Converts a key's value: in existing tables, a string column can refer to a number column. */
function valueFor(column: ColumnInfo, value: unknown, source: ColumnInfo): unknown {
  if (column.kind === source.kind) return value;
  return kindOfColumn(column).fromText(String(value), column);
}

function isSame(left: unknown, right: unknown, column: ColumnInfo): boolean {
  return canonicalValueText(left, column) === canonicalValueText(right, column);
}

import { and, comparison, type Filter } from "../../../filter/filter.ts";
import { equalOperator } from "../../../filter/operators/value_operators.ts";
import { type Assignments, databaseDefault } from "../../../plan/plan.ts";
import { canonicalValueText } from "../../../schema/canonical_value.ts";
import type { ColumnPairs, Relation } from "../../../schema/relation.ts";
import { kindOfColumn } from "../../../schema/structured/kind_of_column.ts";
import { type ColumnInfo, isRequired, type Row } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";
import { atBodyPath } from "../values/body_path.ts";
import { InvalidFields, mayWrite } from "../values/parse_fields.ts";
import type { ForeignKeySource, NestedRow } from "./nested_rows.ts";

/** The sources of the columns in which a row at the end of a step refers to a row of the body. */
export function sourcesFrom(from: NestedRow, pairs: ColumnPairs): readonly ForeignKeySource[] {
  return pairs.map(({ own, other }) => ({ column: other, from, source: own }));
}

/** The sources of the columns in which a row at the start of a step refers to a row of the body. */
export function sourcesTo(from: NestedRow, pairs: ColumnPairs): readonly ForeignKeySource[] {
  return pairs.map(({ own, other }) => ({ column: own, from, source: other }));
}

/** The row of a link table that links two rows of the body. */
export function linkRow(from: NestedRow, to: NestedRow, relation: Relation): NestedRow {
  const [near, far] = relation.steps;
  if (far === undefined) throw new Error(`The relation "${relation.name}" has no link table`);
  return {
    bodyPath: to.bodyPath,
    given: new Map(),
    foreignKeySources: [
      ...sourcesFrom(from, near.pairs),
      ...sourcesTo(to, far.pairs),
    ],
    embedded: [],
  };
}

/**
 * The foreign keys of a nested row. `rowOf` gives a row that it refers to, as far as it is known: of
 * what is not, the column keeps a placeholder. Throws a 422 where the rows cannot be related.
 */
export function foreignKeysOf(
  { foreignKeySources, bodyPath }: Pick<NestedRow, "foreignKeySources" | "bodyPath">,
  rowOf: (row: NestedRow) => Row,
): ReadonlyMap<ColumnInfo, unknown> {
  const unrelated = (message: string) =>
    atBodyPath(
      new InvalidFields([{ path: "", message: `cannot be related: ${message}` }]),
      bodyPath,
    );
  const filled = new Map<ColumnInfo, unknown>();
  for (const { column, from, source } of foreignKeySources) {
    const stored = rowOf(from)[source.name];
    if (stored === null) throw unrelated("the other row has no value to refer to");
    const value = stored === undefined ? databaseDefault : valueFor(column, stored, source);
    const known = filled.get(column) ?? databaseDefault;
    // Two keys of a link may share a column, in which the rows that it links must agree.
    if (value !== databaseDefault && known !== databaseDefault && !isSame(known, value, column)) {
      throw unrelated(`the rows differ in what "${column.name}" refers to`);
    }
    filled.set(column, value === databaseDefault ? known : value);
  }
  return filled;
}

/** The foreign keys of a row that exists without those that stay as they are. */
export function changingKeys(
  { foreignKeySources }: Pick<NestedRow, "foreignKeySources">,
  foreignKeys: Assignments,
): ReadonlyMap<ColumnInfo, unknown> {
  const fixed = new Set(
    foreignKeySources.flatMap(({ column, isFixed }) => isFixed === true ? [column] : []),
  );
  return new Map([...foreignKeys].filter(([column]) => !fixed.has(column)));
}

/** Returns true if a row has these values in its foreign key: not where one of them is unknown. */
export function holdsKeys(row: Row, keys: Assignments): boolean {
  return [...keys].every(([column, value]) => hasValue(row, column, value));
}

/** Returns true if a row has a value in a column of a foreign key. */
export function hasValue(row: Row, column: ColumnInfo, value: unknown): boolean {
  const stored = row[column.name] ?? null;
  return stored !== null && value !== databaseDefault && isSame(stored, value, column);
}

/** The rows with these values in their foreign key. */
export function referringRows(keys: Assignments): Filter {
  return and(...[...keys].map(([column, value]) => comparison(equalOperator, column, [value])));
}

/** Returns true if a body may change a column of a row that exists: a relation may set it then, too. */
export function mayChange(column: ColumnInfo, resource: Resource): boolean {
  return !column.primaryKey && mayWrite(column, resource) && !resource.fields.immutable.has(column);
}

/**
 * The columns of a foreign key that become NULL where its row is disconnected, none where none may:
 * those that another relation starts from, like that of a tenant, only where there are no others.
 */
export function clearedColumns(
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

/** Why a row cannot be disconnected whose foreign key has no column that may become NULL. */
export const neverNull =
  "cannot be disconnected: its foreign key is never NULL. Delete it, or connect it elsewhere";

/** Why a row cannot be related whose foreign key has another value in a column that stays. */
export const partOfKeyStays = "cannot be related: a part of its foreign key cannot change";

/** In existing tables the kinds of both columns may differ: a string may refer to a number. */
function valueFor(column: ColumnInfo, value: unknown, source: ColumnInfo): unknown {
  if (column.kind === source.kind) return value;
  return kindOfColumn(column).fromText(String(value), column);
}

function isSame(left: unknown, right: unknown, column: ColumnInfo): boolean {
  return canonicalValueText(left, column) === canonicalValueText(right, column);
}

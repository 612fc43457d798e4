import { isSameName } from "../../../sql/fragment.ts";
import { namesInSql, normalizeSql, type SqlSyntax } from "../../../sql/statements/normal_sql.ts";
import type { DifferenceKind } from "./difference.ts";
import {
  type CheckShape,
  type ForeignKeyShape,
  type IndexShape,
  isSameList,
  isSameSet,
  type TableName,
  type TableShape,
} from "./table_shape.ts";

/** A difference in a constraint, and its column, or null if the constraint has several columns. */
type Found = readonly [column: string | null, difference: DifferenceKind];

/** The known names. A constraint that names any other column or table is not compared. */
export interface ComparableNames {
  /** The declared columns of the table. */
  readonly columns: readonly string[];
  /** All declared tables, and the tables that the migration drops. */
  readonly tables: readonly TableName[];
}

export function compareConstraints(
  declared: TableShape,
  existing: TableShape,
  own: ComparableNames,
  syntax: SqlSyntax,
): readonly Found[] {
  const isOwn = (columns: readonly string[]) =>
    columns.every((name) => own.columns.some((one) => isSameName(one, name)));
  const pair = { declared, existing, isOwn, syntax };
  return [
    ...compareUniques(pair),
    ...compareChecks(pair),
    ...compareForeignKeys(declared, existing, (key) =>
      isOwn(key.columns) &&
      own.tables.some(({ schema, name }) => schema === key.schema && isSameName(name, key.table))),
    ...compareIndexes(pair),
  ];
}

interface ShapePair {
  readonly declared: TableShape;
  readonly existing: TableShape;
  readonly isOwn: (columns: readonly string[]) => boolean;
  readonly syntax: SqlSyntax;
}

function only(columns: readonly string[]): string | null {
  return columns.length === 1 ? columns[0] ?? null : null;
}

function compareUniques({ declared, existing, isOwn }: ShapePair): Found[] {
  const missing = declared.uniques.filter(({ columns }) =>
    ![...existing.uniques.map((one) => one.columns), existing.key].some((one) =>
      isSameSet(one, columns)
    )
  );
  const superfluous = existing.uniques.filter(({ columns }) =>
    isOwn(columns) &&
    ![...declared.uniques.map((one) => one.columns), declared.key, existing.key].some((one) =>
      isSameSet(one, columns)
    )
  );
  return [
    ...missing.map((one): Found => [only(one.columns), { kind: "missing-unique", declared: one }]),
    ...superfluous.map((one): Found => [
      only(one.columns),
      { kind: "superfluous-unique", existing: one },
    ]),
  ];
}

function compareChecks({ declared, existing, isOwn, syntax }: ShapePair): Found[] {
  const names = new Set(existing.columns.map(({ name }) => name.toLowerCase()));
  const columnsOf = ({ sql }: CheckShape) =>
    [...new Set(namesInSql(sql))].filter((name) => names.has(name));
  const formOf = ({ sql }: CheckShape) => normalizeSql(sql, syntax);
  const wanted = new Set(declared.checks.map(formOf));
  const has = new Set(existing.checks.map(formOf));
  return [
    ...declared.checks.filter((one) => !has.has(formOf(one))).map((one): Found => [
      only(columnsOf(one)),
      { kind: "missing-check", declared: one },
    ]),
    ...existing.checks.filter((one) => !wanted.has(formOf(one)) && isOwn(columnsOf(one)))
      .map((one): Found => [only(columnsOf(one)), { kind: "superfluous-check", existing: one }]),
  ];
}

function compareForeignKeys(
  declared: TableShape,
  existing: TableShape,
  isOwn: (key: ForeignKeyShape) => boolean,
): Found[] {
  const found: Found[] = [];
  for (const wanted of declared.foreignKeys) {
    const has = existing.foreignKeys.find((one) => isSameKey(one, wanted));
    const column = only(wanted.columns);
    if (has === undefined) found.push([column, { kind: "missing-foreign-key", declared: wanted }]);
    else if (has.onDelete !== wanted.onDelete || has.onUpdate !== wanted.onUpdate) {
      found.push([column, { kind: "actions", declared: wanted, existing: has }]);
    }
  }
  for (const has of existing.foreignKeys) {
    if (!isOwn(has) || declared.foreignKeys.some((one) => isSameKey(one, has))) continue;
    found.push([only(has.columns), { kind: "superfluous-foreign-key", existing: has }]);
  }
  return found;
}

function isSameKey(left: ForeignKeyShape, right: ForeignKeyShape): boolean {
  const pairsOf = ({ columns, references }: ForeignKeyShape) =>
    columns.map((name, index) => JSON.stringify([name, references[index]]));
  return isSameName(left.table, right.table) && left.schema === right.schema &&
    isSameSet(pairsOf(left), pairsOf(right));
}

function compareIndexes({ declared, existing, isOwn, syntax }: ShapePair): Found[] {
  const isSame = (left: IndexShape, right: IndexShape) => isSameIndex(left, right, syntax);
  return [
    ...declared.indexes.filter((one) => !existing.indexes.some((has) => isSame(one, has)))
      .map((one): Found => [only(one.parts), { kind: "missing-index", declared: one }]),
    ...existing.indexes.filter((one) =>
      one.isPlain && isOwn(one.parts) && !declared.indexes.some((wanted) => isSame(one, wanted))
    ).map((one): Found => [only(one.parts), { kind: "superfluous-index", existing: one }]),
  ];
}

/** Returns true if two indexes are the same except for their names. */
export function isSameIndex(left: IndexShape, right: IndexShape, syntax: SqlSyntax): boolean {
  const conditionOf = ({ where }: IndexShape) =>
    where === null ? null : normalizeSql(where, syntax);
  return isSameList(left.parts, right.parts) && left.unique === right.unique &&
    left.isValid === right.isValid && conditionOf(left) === conditionOf(right);
}

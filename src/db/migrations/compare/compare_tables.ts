import type { TableInfo } from "../../../schema/table_info.ts";
import { normalizeSql, type SqlSyntax } from "../../../sql/statements/normal_sql.ts";
import type { ComparisonFacts } from "../../engine/migration_facts.ts";
import { compareConstraints, type Difference, type DifferenceKind } from "./difference.ts";
import { createRenamer, withNewNames } from "./new_names.ts";
import {
  type ColumnShape,
  type ExistingShapes,
  findTable,
  type ForeignKeyShape,
  isSameList,
  isSameTableName,
  type TableName,
  type TableShape,
} from "./table_shape.ts";

export interface DeclaredTable {
  readonly table: TableInfo;
  readonly shape: TableShape;
}

export interface PairedTable extends DeclaredTable {
  readonly existing: TableShape;
  /** The existing table, but with the declared names of the table and its columns. */
  readonly current: TableShape;
  readonly columns: PairedColumns;
}

export interface PairedColumns {
  /** The old names of the renamed columns, by their new names. */
  readonly renamed: ReadonlyMap<string, string>;
  readonly pairs: readonly (readonly [wanted: ColumnShape, has: ColumnShape])[];
  readonly missing: readonly ColumnShape[];
  readonly superfluous: readonly ColumnShape[];
}

export function pairTables(
  declared: readonly DeclaredTable[],
  { tables, others }: ExistingShapes,
) {
  const found = declared.filter(({ table }) => findTable(others, table) === undefined)
    .map((one) => ({ ...one, existing: existingOf(one, tables, declared) }));
  const missing = found.filter(({ existing }) => existing === null);
  const present = found.flatMap(({ existing, ...one }) =>
    existing === null
      ? []
      : [{ ...one, existing, columns: pairColumns(one.table, one.shape, existing) }]
  );
  const targetOf = (key: ForeignKeyShape): ForeignKeyShape => {
    const target = present.find(({ existing }) =>
      existing.schema === key.schema && isSameTableName(existing, existing.name, key.table)
    );
    if (target === undefined) return key;
    const { shape, columns: { renamed } } = target;
    const now = createRenamer(renamed);
    return { ...key, table: shape.name, references: key.references.map(now) };
  };
  return {
    missing,
    pairs: present.map((one) => ({
      ...one,
      current: withNames(one.existing, one.columns.renamed, targetOf),
    })),
  };
}

function existingOf(
  { table }: DeclaredTable,
  tables: readonly TableShape[],
  declared: readonly DeclaredTable[],
): TableShape | null {
  const { schema, name, formerName } = table;
  const found = findTable(tables, { schema, name });
  if (found !== undefined && !isLeaving(found, table, tables, declared)) return found;
  return formerName === null ? null : findTable(tables, { schema, name: formerName }) ?? null;
}

/** Returns true if an existing table will be renamed, so that its current name becomes free. */
function isLeaving(
  found: TableShape,
  table: TableInfo,
  tables: readonly TableShape[],
  declared: readonly DeclaredTable[],
  seen: readonly TableInfo[] = [],
): boolean {
  return declared.some(({ table: other }) => {
    const { schema, formerName } = other;
    // If tables exchange names (a cycle), a migration is assumed to have renamed them already.
    if (other === table || seen.includes(other) || formerName === null) return false;
    if (schema !== table.schema || !isSameTableName(found, found.name, formerName)) return false;
    const inPlace = findTable(tables, other);
    return inPlace === undefined || isLeaving(inPlace, other, tables, declared, [...seen, table]);
  });
}

/** Compares declared with existing tables. Foreign keys to `dropped` tables are to be removed. */
export function compareTables(
  declared: readonly DeclaredTable[],
  existing: ExistingShapes,
  comparison: ComparisonFacts,
  dropped: readonly TableName[] = [],
): readonly Difference[] {
  const { pairs, missing } = pairTables(declared, existing);
  const own = [...declared.map(({ shape }) => shape), ...dropped];
  return declared.flatMap(({ table, shape }): readonly Difference[] => {
    const pair = pairs.find((one) => one.table === table);
    if (pair !== undefined) return compareTable(pair, own, comparison);
    const isMissing = missing.some((one) => one.table === table);
    return isMissing
      ? [{ table: table.label, column: null, kind: "missing-table", declared: shape }]
      : [];
  });
}

function compareTable(
  { table, shape, existing, current, columns }: PairedTable,
  own: readonly TableName[],
  comparison: ComparisonFacts,
): readonly Difference[] {
  const found: Difference[] = [];
  const add = (column: string | null, difference: DifferenceKind) =>
    found.push({ table: table.label, column, ...difference });
  if (!isSameTableName(existing, existing.name, shape.name)) {
    add(null, { kind: "renamed-table", existing: existing.name });
  }
  for (const [to, from] of columns.renamed) add(to, { kind: "renamed-column", existing: from });
  for (const one of columns.missing) add(one.name, { kind: "missing-column", declared: one });
  for (const one of columns.superfluous) {
    add(one.name, { kind: "superfluous-column", existing: one });
  }
  for (const [wanted, has] of columns.pairs) {
    for (const one of compareColumn(wanted, has, comparison)) add(wanted.name, one);
  }
  if (!isSameList(shape.key, current.key)) {
    add(null, { kind: "key", declared: shape.key, existing: current.key });
  }
  const ownNames = { columns: shape.columns.map(({ name }) => name), tables: own };
  for (const [column, one] of compareConstraints(shape, current, ownNames, comparison.syntax)) {
    add(column, one);
  }
  return found;
}

function pairColumns(table: TableInfo, declared: TableShape, existing: TableShape): PairedColumns {
  const named = (name: string) =>
    existing.columns.find((one) => isSameTableName(existing, one.name, name));
  const renamed = new Map<string, string>();
  const pairs: [ColumnShape, ColumnShape][] = [];
  const missing: ColumnShape[] = [];
  for (const wanted of declared.columns) {
    const former = table.columns.find(({ dbName }) => dbName === wanted.name)?.formerName ?? null;
    const isFree = former !== null &&
      !declared.columns.some((one) => isSameTableName(existing, one.name, former));
    const before = named(wanted.name) === undefined && isFree ? named(former) : undefined;
    if (before !== undefined) renamed.set(wanted.name, before.name);
    const has = named(wanted.name) ?? before;
    if (has === undefined) missing.push(wanted);
    else pairs.push([wanted, has]);
  }
  const paired = new Set(pairs.map(([, has]) => has));
  return {
    ...{ renamed, pairs, missing },
    superfluous: existing.columns.filter((column) => !paired.has(column)),
  };
}

function compareColumn(
  wanted: ColumnShape,
  has: ColumnShape,
  { isSameType, syntax }: ComparisonFacts,
): readonly DifferenceKind[] {
  const found: DifferenceKind[] = [];
  if (!isSameType(wanted.type, has.type)) {
    found.push({ kind: "type", declared: wanted.type, existing: has.type });
  }
  if (wanted.collation !== null && wanted.collation !== has.collation) {
    found.push({ kind: "collation", declared: wanted.collation, existing: has.collation });
  }
  const [declared, current] = [wanted.notNull, has.notNull];
  if (declared !== current) found.push({ kind: "not-null", declared, existing: current });
  if (wanted.countsUp !== has.countsUp) {
    found.push({ kind: "counting", declared: wanted.countsUp, existing: has.countsUp });
  }
  for (const kind of ["default", "generated"] as const) {
    if (!isSameExpression(wanted[kind], has[kind], syntax)) {
      found.push({ kind, declared: wanted[kind], existing: has[kind] });
    }
  }
  const [members, allowed] = [wanted.members?.values ?? null, has.members?.values ?? null];
  const isSame = members === null || allowed === null
    ? members === allowed
    : members.length === allowed.length && members.every((member) => allowed.includes(member));
  if (!isSame) found.push({ kind: "members", declared: members, existing: allowed });
  return found;
}

/** Returns true if two expressions certainly have the same meaning. */
function isSameExpression(left: string | null, right: string | null, syntax: SqlSyntax): boolean {
  if (left === null || right === null) return left === right;
  return normalizeSql(left, syntax) === normalizeSql(right, syntax);
}

function withNames(
  existing: TableShape,
  renamed: ReadonlyMap<string, string>,
  targetOf: (key: ForeignKeyShape) => ForeignKeyShape,
): TableShape {
  const now = createRenamer(renamed);
  return {
    ...existing,
    columns: existing.columns.map((column) => ({ ...column, name: now(column.name) })),
    key: existing.key.map(now),
    uniques: existing.uniques.map((one) => ({ ...one, columns: one.columns.map(now) })),
    foreignKeys: existing.foreignKeys.map((one) => ({
      ...targetOf(one),
      columns: one.columns.map(now),
    })),
    indexes: existing.indexes.map((one) => ({ ...one, parts: one.parts.map(now) })),
    checks: existing.checks.map((one) => ({ ...one, sql: withNewNames(one.sql, renamed) })),
  };
}

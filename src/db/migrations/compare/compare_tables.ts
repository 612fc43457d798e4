import type { TableInfo } from "../../../schema/table_info.ts";
import { normalSql } from "../../../sql/statements/normal_sql.ts";
import { affinityOfType } from "../../../sql/sqlite/column_type.ts";
import { compareConstraints } from "./compare_constraints.ts";
import type { Difference, DifferenceKind } from "./difference.ts";
import {
  type ColumnShape,
  type ExistingShapes,
  isSameList,
  isSameName,
  shapeOf,
  type TableShape,
} from "./table_shape.ts";

/** A declared table with the shape that it asks for. */
export interface DeclaredTable {
  readonly table: TableInfo;
  readonly shape: TableShape;
}

/** A declared table beside the existing one that stands for it, whatever that is called now. */
export interface PairedTable extends DeclaredTable {
  readonly existing: TableShape | null;
}

/** Finds for each declared table the existing one: that of its name, or else of its former name. */
export function pairTables(
  declared: readonly DeclaredTable[],
  { tables, others }: ExistingShapes,
): readonly PairedTable[] {
  return declared.flatMap((one): PairedTable[] => {
    const { table } = one;
    if (shapeOf(others, table) !== undefined) return [];
    const former = table.formerName === null || isSameName(table.formerName, table.name)
      ? undefined
      : shapeOf(tables, { schema: table.schema, name: table.formerName });
    return [{ ...one, existing: shapeOf(tables, table) ?? former ?? null }];
  });
}

/**
 * Compares declared tables with those that a database has: all that differs, as data. Tables that
 * are not declared are not looked at.
 */
export function compareTables(
  declared: readonly DeclaredTable[],
  existing: ExistingShapes,
): readonly Difference[] {
  return pairTables(declared, existing).flatMap(compareTable);
}

function compareTable({ table, shape, existing }: PairedTable): readonly Difference[] {
  const found: Difference[] = [];
  const add = (column: string | null, difference: DifferenceKind) =>
    found.push({ table: table.label, column, ...difference });
  if (existing === null) {
    add(null, { kind: "missing-table", declared: shape });
    return found;
  }
  if (!isSameName(existing.name, shape.name)) {
    add(null, { kind: "renamed-table", existing: existing.name });
  }
  const { renamed, pairs, missing, superfluous } = pairColumns(table, shape, existing);
  for (const [to, from] of renamed) add(to, { kind: "renamed-column", existing: from });
  for (const column of missing) add(column.name, { kind: "missing-column", declared: column });
  for (const column of superfluous) {
    add(column.name, { kind: "superfluous-column", existing: column });
  }
  for (const [wanted, has] of pairs) {
    for (const one of compareColumn(wanted, has, existing)) add(wanted.name, one);
  }
  const current = withNames(existing, renamed);
  if (!isSameList(shape.key, current.key)) {
    add(null, { kind: "key", declared: shape.key, existing: current.key });
  }
  const extra = superfluous.map(({ name }) => name);
  for (const [column, one] of compareConstraints(shape, current, extra)) add(column, one);
  return found;
}

interface PairedColumns {
  /** The names now, and those before. */
  readonly renamed: ReadonlyMap<string, string>;
  readonly pairs: readonly (readonly [wanted: ColumnShape, has: ColumnShape])[];
  readonly missing: readonly ColumnShape[];
  readonly superfluous: readonly ColumnShape[];
}

/** Which existing column stands for which declared one. */
export function pairColumns(
  table: TableInfo,
  declared: TableShape,
  existing: TableShape,
): PairedColumns {
  const named = (name: string) => existing.columns.find((one) => isSameName(one.name, name));
  const renamed = new Map<string, string>();
  const pairs: [ColumnShape, ColumnShape][] = [];
  const missing: ColumnShape[] = [];
  for (const wanted of declared.columns) {
    const former = table.columns.find(({ dbName }) => dbName === wanted.name)?.formerName ?? null;
    const isFree = former !== null &&
      !declared.columns.some((one) => isSameName(one.name, former));
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
  existing: TableShape,
): readonly DifferenceKind[] {
  const found: DifferenceKind[] = [];
  const isFile = existing.sql !== null;
  if (!isSameType(wanted.type, has.type, isFile)) {
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
    if (!isSameExpression(wanted[kind], has[kind], isFile)) {
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

/**
 * Whether two types keep the same values. SQLite knows affinities; the digits of a decimal, which it
 * ignores, document the declaration.
 */
function isSameType(wanted: string, has: string, isFile: boolean): boolean {
  if (wanted.toLowerCase() === has.toLowerCase()) return true;
  if (!isFile) return false;
  const digits = /\(\s*(\d+)\s*,\s*(\d+)\s*\)/;
  const [one, other] = [digits.exec(wanted), digits.exec(has)];
  const isSameNumber = one === null || other === null ||
    one[1] === other[1] && one[2] === other[2];
  return affinityOfType(wanted) === affinityOfType(has) && isSameNumber;
}

/** Whether two expressions of the same engine certainly mean the same. */
export function isSameExpression(
  left: string | null,
  right: string | null,
  isFile: boolean,
): boolean {
  if (left === null || right === null) return left === right;
  const engine = isFile ? "sqlite" : "postgres";
  return normalSql(left, engine) === normalSql(right, engine);
}

/** The existing table as it is once its columns are renamed. */
export function withNames(
  existing: TableShape,
  renamed: ReadonlyMap<string, string>,
): TableShape {
  if (renamed.size === 0) return existing;
  const now = new Map([...renamed].map(([to, from]) => [from.toLowerCase(), to]));
  const nameOf = (name: string) => now.get(name.toLowerCase()) ?? name;
  return {
    ...existing,
    columns: existing.columns.map((column) => ({ ...column, name: nameOf(column.name) })),
    key: existing.key.map(nameOf),
    uniques: existing.uniques.map((one) => ({ ...one, columns: one.columns.map(nameOf) })),
    foreignKeys: existing.foreignKeys.map((one) => ({
      ...one,
      columns: one.columns.map(nameOf),
    })),
    indexes: existing.indexes.map((one) => ({ ...one, parts: one.parts.map(nameOf) })),
    checks: existing.checks.map((one) => ({ ...one, sql: withWords(one.sql, now) })),
  };
}

function withWords(sql: string, now: ReadonlyMap<string, string>): string {
  return sql.replaceAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|[\w$\u0080-\u{10ffff}]+/gu, (word) => {
    if (word.startsWith("'")) return word;
    const isQuoted = word.startsWith('"');
    const name = isQuoted ? word.slice(1, -1).replaceAll('""', '"') : word;
    const to = now.get(name.toLowerCase());
    return to === undefined ? word : `"${to.replaceAll('"', '""')}"`;
  });
}

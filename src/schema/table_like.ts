import { showValue } from "../problem/show_value.ts";
import {
  columnsKey,
  dbNameOf,
  type DrizzleColumn,
  type DrizzleTable,
  isDrizzleColumn,
  isDrizzleTable,
} from "./drizzle/drizzle_structure.ts";
import { describeDrizzleTable } from "./drizzle/drizzle_table.ts";
import type { ColumnInfo, ForeignKey, TableInfo } from "./table_info.ts";
import { constraintName } from "./constraint_name.ts";
import type { CheckInfo, ForeignKeyActions, IndexInfo, SqlCondition } from "./table_constraints.ts";

export const tableInfoKey: unique symbol = Symbol.for("@svc/resource-api:table");

export const columnInfoKey: unique symbol = Symbol.for("@svc/resource-api:column");

/** The type of an unknown table name. The service checks columns of such tables at its start. */
// The type is `any`, because only `any` is assignable to and from every name.
// deno-lint-ignore no-explicit-any
export type AnyTable = any;

/** @internal True for a name that TypeScript does not know: its type is `any` or `string`. */
export type IsUnknownName<Name> = 0 extends (1 & Name) ? true : string extends Name ? true : false;

/** A column of any library, with values `T`. The compiler accepts only columns of table `Of`. */
export interface ColumnLike<T, Of = AnyTable> {
  /** Exists only for the compiler, which infers types from it. */
  readonly _: { readonly data: T; readonly tableName?: Of };
}

/** A table with rows of type `Select`, new rows of type `Insert`, and the name `Name` if known. */
export interface TableLike<Select, Insert, Name = AnyTable> {
  /** The type of a row. Exists only for the compiler. */
  readonly $inferSelect: Select;
  /** The type of a new row. Exists only for the compiler. */
  readonly $inferInsert: Insert;
  /** The name of the table. Exists only for the compiler. */
  readonly $inferName?: Name;
  /** The name of a Drizzle table. Exists only for the compiler. */
  readonly _?: { readonly name?: Name };
}

/** The type of a value in JSON: dates, bigints and bytes of Drizzle become strings. */
export type ServedValue<T> = T extends Date | bigint | Uint8Array ? string
  : T extends readonly (infer Item)[] ? unknown extends Item ? T
    : [Item] extends [Date | bigint | Uint8Array | null] ? ServedValue<Item>[]
    : T
  : T;

/** The type of a row in JSON: each member has the type {@link ServedValue}. */
export type ServedRow<Row> =
  // Because of the intersection, editors show the members and not the type's name.
  { [Key in keyof Row]: ServedValue<Row[Key]> } & unknown;

export function tableInfoOf(source: TableLike<unknown, unknown> | ColumnLike<unknown>): TableInfo {
  if (isObject(source)) {
    if (hasTableInfo(source)) return source[tableInfoKey];
    if (isDrizzleTable(source)) return describe(source);
    if (isDrizzleColumn(source)) return describe(source.table);
  }
  throw new Error(
    `Cannot use ${showValue(source)} as a table: it was not made by table(), nor by Drizzle`,
  );
}

export function isTableLike(value: unknown): value is TableLike<unknown, unknown> {
  return isObject(value) && !hasColumnInfo(value) && (hasTableInfo(value) || isDrizzleTable(value));
}

/** Returns true for a `TableInfo`. A declared table can have a column `byName`, but never a Map. */
export function isTableInfo(table: TableLike<unknown, unknown> | TableInfo): table is TableInfo {
  return "byName" in table && table.byName instanceof Map;
}

export function isColumn(value: unknown): value is ColumnLike<unknown> {
  return isObject(value) && (hasColumnInfo(value) || isDrizzleColumn(value));
}

/** Returns the description of a column, the same object as in {@link tableInfoOf}. */
export function columnInfoOf(column: ColumnLike<unknown>): ColumnInfo {
  if (isObject(column)) {
    if (hasColumnInfo(column)) return column[columnInfoKey];
    if (isDrizzleColumn(column)) return columnOf(describe(column.table), column);
  }
  const given = showValue(column);
  throw new Error(
    `Cannot use ${given} as a column: it does not belong to a table made by table() or by Drizzle; is its name right?`,
  );
}

function describe(table: DrizzleTable): TableInfo {
  if (hasTableInfo(table)) return table[tableInfoKey];
  const info = describeDrizzleTable(table);
  Object.defineProperty(table, tableInfoKey, { value: info });
  for (const [name, column] of Object.entries(table[columnsKey])) {
    Object.defineProperty(column, tableInfoKey, { value: info });
    Object.defineProperty(column, columnInfoKey, { value: info.byName.get(name) });
  }
  return info;
}

/** Finds a column by name, because Drizzle passes copies of columns to a table's third argument. */
function columnOf(table: TableInfo, source: DrizzleColumn): ColumnInfo {
  const dbName = dbNameOf(source, source.table);
  const found = table.columns.find((column) => column.dbName === dbName);
  if (found !== undefined) return found;
  throw new Error(`Cannot use "${dbName}" as a column: "${table.name}" has none of this name`);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function hasTableInfo(source: object): source is { readonly [tableInfoKey]: TableInfo } {
  return tableInfoKey in source;
}

function hasColumnInfo(source: object): source is { readonly [columnInfoKey]: ColumnInfo } {
  return columnInfoKey in source;
}

/** A part of a table's declaration besides its columns, such as an index. */
export type TablePart =
  | {
    readonly kind: "index" | "unique";
    /** The columns of an index or of a unique set, at least one, in order. */
    readonly columns: readonly ColumnLike<unknown>[];
    /** The name in the database; null to derive it from the columns. */
    readonly name: string | null;
    readonly rows: SqlCondition | null;
  }
  | { readonly kind: "check"; readonly name: string | null; readonly condition: SqlCondition }
  /** The former name of the table, for migrations. */
  | { readonly kind: "formerName"; readonly name: string }
  | ForeignKeyPart;

/** A foreign key in the declaration of a table. */
export interface ForeignKeyPart {
  /** Distinguishes a foreign key from other parts. */
  readonly kind: "foreignKey";
  /** The referencing columns. */
  readonly columns: readonly ColumnLike<unknown>[];
  /** Returns the referenced columns, in the order of `columns`. Called after all declarations. */
  readonly references: () => readonly ColumnLike<unknown>[];
  /** The `ON DELETE` and `ON UPDATE` actions of the foreign key. */
  readonly actions: ForeignKeyActions;
}

export interface DeclaredConstraints
  extends Pick<TableInfo, "indexes" | "uniques" | "checks" | "formerName"> {
  readonly foreignKeys: readonly (() => ForeignKey)[];
}

export const noConstraints: DeclaredConstraints = {
  ...{ indexes: [], uniques: [], checks: [], foreignKeys: [], formerName: null },
};

/**
 * Describes the constraints of a table. Adds an index for each foreign key without one, because
 * each delete of a referenced row would otherwise read the whole table. `referencing` are the
 * columns with a foreign key of one column. Throws an Error for a column of another table.
 */
export function describeConstraints(
  table: TableInfo,
  parts: readonly TablePart[],
  referencing: readonly string[],
): DeclaredConstraints {
  const indexes: IndexInfo[] = [];
  const uniques: (readonly string[])[] = [];
  const checks: CheckInfo[] = [];
  const foreignKeys: (() => ForeignKey)[] = [];
  const keys = referencing.map((name): readonly string[] => [name]);
  let formerName: string | null = null;
  for (const part of parts) {
    if (part.kind === "formerName") formerName = part.name;
    if (part.kind === "check") checks.push({ name: part.name, sql: part.condition });
    if (!("columns" in part)) continue;
    const columns = part.columns.map((column) => {
      const { dbName } = columnInfoOf(column);
      const owner = tableInfoOf(column);
      if (owner === table) return dbName;
      throw new Error(`Cannot declare "${table.name}": "${dbName}" is a column of "${owner.name}"`);
    });
    if (part.kind === "foreignKey") {
      keys.push(columns);
      foreignKeys.push(() => describeKey(part, columns, table));
    } else if (part.kind === "unique" && part.rows === null && part.name === null) {
      uniques.push(columns);
    } else {
      const { kind, rows: where } = part;
      const name = part.name ?? constraintName([table.name, ...columns], suffixes[kind]);
      indexes.push({ name, columns, unique: kind === "unique", where });
    }
  }
  indexes.push(...indexesOfKeys(keys, { indexes, uniques }, table));
  return { indexes, uniques, checks, foreignKeys, formerName };
}

const suffixes = { index: "idx", unique: "key" } as const;

function describeKey(
  { references, actions }: ForeignKeyPart,
  columns: readonly string[],
  table: TableInfo,
): ForeignKey {
  const targets = references();
  const owners = new Set(targets.map((target) => tableInfoOf(target)));
  const [owner] = owners;
  if (owner === undefined || owners.size > 1 || targets.length !== columns.length) {
    const named = columns.join(", ");
    throw new Error(
      `Cannot declare "${table.name}": the foreign key of ${named} must refer to ${columns.length} columns of one table`,
    );
  }
  return {
    columns,
    ...{ schema: owner.schema, table: owner.name },
    references: targets.map((target) => columnInfoOf(target).dbName),
    ...actions,
  };
}

function indexesOfKeys(
  keys: readonly (readonly string[])[],
  { indexes, uniques }: Pick<TableInfo, "indexes" | "uniques">,
  table: TableInfo,
): readonly IndexInfo[] {
  const leading = [
    table.primaryKey.map(({ dbName }) => dbName),
    ...table.columns.flatMap(({ unique, dbName }) => unique ? [[dbName]] : []),
    ...uniques,
    ...indexes.flatMap(({ where, columns }) => where === null ? [columns] : []),
  ];
  return keys.flatMap((columns) => {
    const isServed = leading.some((list) => {
      const first = list.slice(0, columns.length);
      return columns.every((name) => first.includes(name));
    });
    if (isServed) return [];
    leading.push([...columns]);
    const name = constraintName([table.name, ...columns], suffixes.index);
    return [{ name, columns, unique: false, where: null }];
  });
}

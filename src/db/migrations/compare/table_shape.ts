import { isSameName } from "../../../sql/fragment.ts";
import {
  parseCreateTable,
  type ParsedConstraint,
} from "../../../sql/statements/parse_create_table.ts";
import { parseCreateIndex } from "../../../sql/statements/parse_create_index.ts";
import { sqliteEnumChecks } from "../../tables/enum_checks.ts";

export interface TableShape {
  readonly schema: string | null;
  readonly name: string;
  readonly columns: readonly ColumnShape[];
  readonly key: readonly string[];
  readonly keyName: string | null;
  readonly uniques: readonly UniqueShape[];
  readonly checks: readonly CheckShape[];
  readonly foreignKeys: readonly ForeignKeyShape[];
  readonly indexes: readonly IndexShape[];
  /** The CREATE TABLE statement on SQLite, of a declared or a stored table. Null on Postgres. */
  readonly sql: string | null;
}

export interface ColumnShape {
  readonly name: string;
  readonly type: string;
  readonly collation: string | null;
  /** True if the column is declared NOT NULL. In SQLite, a key column can lack NOT NULL. */
  readonly notNull: boolean;
  readonly default: string | null;
  readonly generated: string | null;
  /** True if the database generates the values: an identity column, or a row id of SQLite. */
  readonly countsUp: boolean;
  /** The strings that an enum column's CHECK allows. `check`: the CHECK's name in the database. */
  readonly members: { readonly values: readonly string[]; readonly check: string | null } | null;
}

export interface UniqueShape {
  readonly name: string | null;
  readonly columns: readonly string[];
  readonly index: string | null;
}

export interface CheckShape {
  readonly name: string | null;
  readonly sql: string;
}

export interface ForeignKeyShape {
  readonly name: string | null;
  readonly columns: readonly string[];
  readonly schema: string | null;
  readonly table: string;
  readonly references: readonly string[];
  /** The action in lower case, such as `set null`, or null for no action. */
  readonly onDelete: string | null;
  readonly onUpdate: string | null;
}

/** An index in the shape of a table. A unique index of whole columns is in `uniques` instead. */
export interface IndexShape {
  readonly name: string;
  readonly parts: readonly string[];
  readonly unique: boolean;
  readonly where: string | null;
  /** True for an index of the default kind on whole columns. Only such an index can be declared. */
  readonly isPlain: boolean;
  /** False after a failed `CREATE INDEX CONCURRENTLY` of Postgres: the index enforces nothing. */
  readonly isValid: boolean;
  readonly sql: string;
}

export interface TableName {
  readonly schema: string | null;
  readonly name: string;
}

export interface ExistingShapes {
  readonly tables: readonly TableShape[];
  /** Views and other relations that are not tables. A migration never compares or changes them. */
  readonly others: readonly TableName[];
}

export function findTable<T extends TableName & { readonly sql?: string | null }>(
  tables: readonly T[],
  { schema, name }: TableName,
): T | undefined {
  return tables.find((table) =>
    table.schema === schema && isSameTableName(table, table.name, name)
  );
}

/** Returns true if two names are equal. On Postgres, where `sql` is null, case matters. */
export function isSameTableName(
  { sql }: { readonly sql?: string | null },
  left: string,
  right: string,
): boolean {
  return sql === null ? left === right : isSameName(left, right);
}

export function isSameSet(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length &&
    left.every((name) => right.some((other) => isSameName(name, other)));
}

export function isSameList(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length &&
    left.every((name, index) => isSameName(name, right[index] ?? ""));
}

interface TableStatements extends TableName {
  readonly createTable: string;
  readonly createIndexes: readonly string[];
  /** Returns the primary key of a table, to which a foreign key without target columns refers. */
  readonly keyOf?: (table: string) => readonly string[];
}

export function parsedShape(facts: TableStatements): TableShape {
  const { schema, name, createTable, createIndexes, keyOf = () => [] } = facts;
  const { definitions } = parseCreateTable(createTable);
  const constraints = definitions.flatMap(({ constraints }) => constraints);
  const key = constraints.flatMap((one) => one.kind === "key" ? [one.columns] : [])[0] ?? [];
  const enums = sqliteEnumChecks(createTable);
  const columns = definitions.flatMap((definition): ColumnShape[] => {
    if (definition.column === null) return [];
    const { column, constraints: own } = definition;
    const isKey = key.length === 1 && isSameName(key[0] ?? "", column.name);
    const values = enums.get(column.name.toLowerCase());
    // A primary key that is SQLite's row id is never NULL.
    const isRowId = isKey && /^integer$/i.test(column.type);
    return [{
      name: column.name,
      type: column.type,
      collation: own.flatMap((one) => one.kind === "collate" ? [one.collation] : [])[0] ?? null,
      notNull: isRowId || own.some(({ kind }) => kind === "not null"),
      default: expressionOf(own, "default"),
      generated: expressionOf(own, "generated"),
      countsUp: isRowId || own.some(({ kind }) => kind === "identity"),
      members: values === undefined ? null : { values, check: null },
    }];
  });
  const indexes = createIndexes.map((sql) => parsedIndex(sql, name, columns));
  return {
    ...{ schema, name, columns, key, keyName: null },
    uniques: [
      ...constraints.flatMap((one): UniqueShape[] =>
        one.kind === "unique" ? [{ name: one.name, columns: one.columns, index: null }] : []
      ),
      ...indexes.filter(isWholeUnique).map((index): UniqueShape => ({
        name: index.name,
        columns: index.parts,
        index: index.sql,
      })),
    ],
    checks: constraints.flatMap((one): CheckShape[] =>
      one.kind === "check" && !isEnumCheck(one.sql) ? [{ name: one.name, sql: one.sql }] : []
    ),
    foreignKeys: constraints.flatMap((one) =>
      one.kind === "references" ? [foreignKey(one, keyOf)] : []
    ),
    indexes: indexes.filter((index) => !isWholeUnique(index)),
    sql: createTable,
  };
}

export function isWholeUnique({ unique, where, isPlain, isValid }: IndexShape): boolean {
  return unique && where === null && isPlain && isValid;
}

function expressionOf(
  constraints: readonly ParsedConstraint[],
  kind: "default" | "generated",
): string | null {
  const found = constraints.find((one) => one.kind === kind);
  if (found?.kind !== "default" && found?.kind !== "generated") return null;
  return /^null$/i.test(found.sql) ? null : found.sql;
}

function isEnumCheck(sql: string): boolean {
  return sqliteEnumChecks(`CHECK (${sql})`).size > 0;
}

function foreignKey(
  { name, columns, target }: ParsedConstraint & { readonly kind: "references" },
  keyOf: (table: string) => readonly string[],
): ForeignKeyShape {
  const table = target.table.at(-1) ?? "";
  return {
    ...{ name, columns, table },
    schema: target.table.length > 1 ? target.table[0] ?? null : null,
    references: target.columns ?? keyOf(table),
    onDelete: target.onDelete,
    onUpdate: target.onUpdate,
  };
}

function parsedIndex(sql: string, table: string, columns: readonly ColumnShape[]): IndexShape {
  const names = columns.map(({ name }) => name);
  const { parts, where } = parseCreateIndex(sql, table, names);
  const plain = parts.map((part) => part.replace(/^["`[](.*)["`\]]$/, "$1").replaceAll('""', '"'));
  const [, quoted, bare = ""] = indexName.exec(sql) ?? [];
  return {
    name: quoted?.slice(1, -1).replaceAll('""', '"') ?? bare,
    parts: plain,
    unique: /^\s*CREATE\s+UNIQUE\b/i.test(sql),
    where,
    isPlain: plain.every((part) => names.some((name) => isSameName(name, part))) &&
      !/\bCOLLATE\b/i.test(sql),
    isValid: true,
    sql,
  };
}

const indexName =
  /\bINDEX\s+(?:IF\s+NOT\s+EXISTS\s+)?(?:(?:"[^"]*"|\w+)\s*\.\s*)?(?:("(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\])|([\w$]+))\s+ON\b/i;

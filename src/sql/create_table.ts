import { bytesToHex } from "../protocol/byte_text.ts";
import { InvalidValue } from "../schema/kind.ts";
import { conditionSql } from "../schema/table_constraints.ts";
import {
  type ColumnInfo,
  type ForeignKey,
  refersTo,
  type TableInfo,
} from "../schema/table_info.ts";
import { constraintName, hashOf } from "../schema/constraint_name.ts";
import type { Dialect } from "./dialect.ts";
import { quoteIdentifier, quoteText, sqlName, type SqlValue, type Statement } from "./fragment.ts";

export function createTableStatements(table: TableInfo, dialect: Dialect): Statement[] {
  const hasOneKey = table.primaryKey.length === 1;
  const lines = [
    ...table.columns.map((column) => columnLine(column, table, dialect)),
    ...(hasOneKey ? [] : [`PRIMARY KEY (${names(table.primaryKey.map((key) => key.dbName))})`]),
    ...table.uniques.map((columns) => uniqueLine(columns, table)),
    ...table.checks.map(({ name, sql }) => {
      const text = conditionSql(sql, dialect);
      const called = name ?? constraintName([table.name, hashOf([text])], "check");
      return `CONSTRAINT ${quoteIdentifier(called)} CHECK (${text}\n)`;
    }),
    ...table.foreignKeys.map(foreignKeyLine),
  ];
  const text = `CREATE TABLE ${sqlName(table)} (\n  ${lines.join(",\n  ")}\n)`;
  return [{ text, values: [] }, ...createIndexStatements(table, dialect)];
}

export function createIndexStatements(table: TableInfo, dialect: Dialect): Statement[] {
  return table.indexes.map(({ name, columns, unique, where }) => {
    const create = unique ? "CREATE UNIQUE INDEX" : "CREATE INDEX";
    const rows = where === null ? "" : ` WHERE ${conditionSql(where, dialect)}`;
    const owner = sqlName(table);
    const text = `${create} ${quoteIdentifier(name)} ON ${owner} (${names(columns)})${rows}`;
    return { text, values: [] };
  });
}

export function addForeignKeyStatements(
  { schema, name }: TableInfo,
  keys: readonly ForeignKey[],
): Statement[] {
  return keys.map((key) => ({
    text: `ALTER TABLE ${sqlName({ schema, name })} ADD ${foreignKeyLine(key)}`,
    values: [],
  }));
}

/** Orders tables for creation: referenced tables first, as Postgres requires, except in a cycle. */
export function inCreationOrder(tables: readonly TableInfo[]): TableInfo[] {
  const ordered = new Set<TableInfo>();
  const entered = new Set<TableInfo>();
  const visit = (table: TableInfo) => {
    if (entered.has(table)) return;
    entered.add(table);
    for (const key of table.foreignKeys) {
      const found = tables.find((one) => refersTo(key, one));
      if (found !== undefined) visit(found);
    }
    ordered.add(table);
  };
  tables.forEach(visit);
  return [...ordered];
}

function columnLine(column: ColumnInfo, table: TableInfo, dialect: Dialect): string {
  try {
    return columnDefinition(column, table, dialect);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    const subject = `the default and the limits of "${table.name}.${column.name}"`;
    throw new Error(`Cannot create the table "${table.name}": ${subject} ${error.message}`);
  }
}

function columnDefinition(column: ColumnInfo, table: TableInfo, dialect: Dialect): string {
  const name = quoteIdentifier(column.dbName);
  const parts = [name, dialect.columnType(column)];
  const isAutoIncrement = column.default?.kind === "database" && column.default.sql === null &&
    column.writeTimestamp === null;
  if (isAutoIncrement) parts.push(...dialect.definitions.identity);
  if (column.primaryKey && table.primaryKey.length === 1) parts.push("PRIMARY KEY");
  // In SQLite a key column allows NULL unless it is declared NOT NULL, for historical reasons.
  if (column.notNull && !isAutoIncrement) parts.push("NOT NULL");
  if (column.unique) parts.push("UNIQUE");
  return [...parts, ...sourceOf(column, dialect), ...columnChecks(column, table, dialect)].join(
    " ",
  );
}

/** Returns a column's GENERATED or DEFAULT clause. The `\n` ends a `--` comment in the SQL. */
function sourceOf(column: ColumnInfo, dialect: Dialect): readonly string[] {
  if (column.generatedSql !== null) {
    const value = dialect.definitions.generatedValue(column, column.generatedSql);
    return [`GENERATED ALWAYS AS (${value}) STORED`];
  }
  const { default: source, writeTimestamp } = column;
  if (writeTimestamp !== null) return [`DEFAULT (${dialect.currentTimestampSql})`];
  if (source?.kind === "database" && source.sql !== null) return [`DEFAULT (${source.sql}\n)`];
  return source?.kind === "value" ? [`DEFAULT ${stored(source.value, column, dialect)}`] : [];
}

/** Returns the CHECK clauses that work equally on all engines: no patterns or maximum lengths. */
function columnChecks(column: ColumnInfo, table: TableInfo, dialect: Dialect): readonly string[] {
  const name = quoteIdentifier(column.dbName);
  const { enumValues, min, max, minLength } = column;
  const check = (what: string, condition: string) => {
    const called = quoteIdentifier(constraintName([table.name, column.dbName], what));
    return `CONSTRAINT ${called} CHECK (${condition})`;
  };
  const limits = [
    ...(min === null ? [] : [`${name} >= ${stored(min, column, dialect)}`]),
    ...(max === null ? [] : [`${name} <= ${stored(max, column, dialect)}`]),
  ];
  return [
    ...(enumValues === null
      ? []
      : [`CHECK (${name} IN (${enumValues.map((one) => sqlLiteral(one, dialect)).join(", ")}))`]),
    ...(limits.length === 0 ? [] : [check("limits", limits.join(" AND "))]),
    ...(minLength === null ? [] : [check("length", `length(${name}) >= ${minLength}`)]),
  ];
}

function uniqueLine(columns: readonly string[], table: TableInfo): string {
  const name = constraintName([table.name, ...columns], "key");
  return `CONSTRAINT ${quoteIdentifier(name)} UNIQUE (${names(columns)})`;
}

function foreignKeyLine({ columns, schema, table, references, ...actions }: ForeignKey): string {
  const { onDelete, onUpdate } = actions;
  return `FOREIGN KEY (${names(columns)}) REFERENCES ${sqlName({ schema, name: table })} (${
    names(references)
  })${onDelete === null ? "" : ` ON DELETE ${onDelete.toUpperCase()}`}${
    onUpdate === null ? "" : ` ON UPDATE ${onUpdate.toUpperCase()}`
  }`;
}

function names(columns: readonly string[]): string {
  return columns.map(quoteIdentifier).join(", ");
}

function stored(value: unknown, column: ColumnInfo, dialect: Dialect): string {
  dialect.check(value, column);
  return sqlLiteral(dialect.encode(value, column), dialect);
}

/** Returns a declared value as SQL, because DDL has no parameters. */
export function sqlLiteral(value: SqlValue, dialect: Dialect): string {
  if (value === null) return "NULL";
  if (value instanceof Uint8Array) return dialect.definitions.bytesLiteral(bytesToHex(value));
  return typeof value === "string" ? quoteText(value) : String(value);
}

import * as olderPg from "drizzle-0.45/pg-core";
import * as olderSqlite from "drizzle-0.45/sqlite-core";
import { sql as olderSql } from "drizzle-0.45";
import * as newerPg from "drizzle-1.0/pg-core";
import * as newerSqlite from "drizzle-1.0/sqlite-core";
import { sql as newerSql } from "drizzle-1.0";
import type { Database } from "../../mod.ts";
import type { TableLike } from "../../exports/schema.ts";

/** A line of Drizzle: its parts for each engine, and `sql`. */
export interface DrizzleLine {
  readonly name: string;
  readonly sqlite: typeof olderSqlite;
  readonly pg: typeof olderPg;
  readonly sql: typeof olderSql;
}

/** The two lines that are in use. */
export const drizzleLines: readonly DrizzleLine[] = [
  { name: "0.45", sqlite: olderSqlite, pg: olderPg, sql: olderSql },
  {
    name: "1.0",
    // Tests use what both lines have under the same names, which their types do not say.
    sqlite: newerSqlite as unknown as typeof olderSqlite,
    pg: newerPg as unknown as typeof olderPg,
    sql: newerSql as unknown as typeof olderSql,
  },
];

/**
 * Creates tables as migrations of Drizzle would: with the types that they name, and with what
 * Drizzle itself says of their constraints.
 */
export async function createDrizzleTables(
  db: Database,
  { sqlite, pg }: DrizzleLine,
  tables: readonly TableLike<unknown, unknown>[],
): Promise<void> {
  const isSqlite = db.dialect.engine === "sqlite";
  for (const table of tables) {
    // The same members in both, as far as they are read here.
    const config = (isSqlite ? sqlite.getTableConfig(table as never) : pg.getTableConfig(
      table as never,
    )) as unknown as TableConfig;
    for (const text of statements(config)) await db.query({ text, values: [] });
  }
}

interface TableConfig {
  readonly name: string;
  readonly schema?: string;
  readonly columns: readonly Column[];
  readonly primaryKeys: readonly { readonly columns: readonly Column[] }[];
  readonly uniqueConstraints: readonly { readonly columns: readonly Column[] }[];
  readonly foreignKeys: readonly {
    reference(): {
      readonly columns: readonly Column[];
      readonly foreignColumns: readonly Column[];
    };
    readonly onDelete?: string;
  }[];
  readonly indexes: readonly {
    readonly config: {
      readonly name: string;
      readonly unique: boolean;
      readonly columns: readonly Column[];
    };
  }[];
}

interface Column {
  readonly name: string;
  readonly table: object;
  readonly notNull: boolean;
  readonly primary: boolean;
  readonly isUnique: boolean;
  readonly default: unknown;
  readonly generated?: { readonly as: Sql };
  readonly generatedIdentity?: { readonly type: string };
  readonly enum?: PgEnum;
  readonly baseColumn?: { readonly enum?: PgEnum };
  /** In the newer line, as are the dimensions of arrays. */
  readonly isAlias?: boolean;
  readonly dimensions?: number;
  readonly columnType: string;
  getSQLType(): string;
  mapToDriverValue(value: unknown): unknown;
}

interface PgEnum {
  readonly enumName: string;
  readonly enumValues: readonly string[];
  readonly schema?: string;
}

interface Sql {
  toQuery(config: object): { readonly sql: string };
}

function statements(table: TableConfig): string[] {
  const name = `${table.schema === undefined ? "" : `"${table.schema}".`}"${table.name}"`;
  const lines = [
    ...table.columns.map(columnLine),
    ...table.primaryKeys.map(({ columns }) => `PRIMARY KEY (${names(columns)})`),
    ...table.uniqueConstraints.map(({ columns }) => `UNIQUE (${names(columns)})`),
    ...table.foreignKeys.map((key) => {
      const { columns, foreignColumns } = key.reference();
      const [target] = foreignColumns;
      const other = Reflect.get(Object(target?.table), Symbol.for("drizzle:Name"));
      const action = key.onDelete === undefined ? "" : ` ON DELETE ${key.onDelete}`;
      return `FOREIGN KEY (${names(columns)}) REFERENCES "${other}" (${
        names(foreignColumns)
      })${action}`;
    }),
  ];
  return [
    ...(table.schema === undefined ? [] : [`CREATE SCHEMA IF NOT EXISTS "${table.schema}"`]),
    ...new Set(
      table.columns.flatMap(({ enum: given, baseColumn }) => enumType(given ?? baseColumn?.enum)),
    ),
    `CREATE TABLE ${name} (${lines.join(", ")})`,
    ...table.indexes.map(({ config }) =>
      `CREATE ${config.unique ? "UNIQUE " : ""}INDEX "${config.name}" ON ${name} (${
        names(config.columns)
      })`
    ),
  ];
}

function enumType(given: PgEnum | undefined): string[] {
  if (given === undefined) return [];
  const schema = given.schema === undefined ? "" : `"${given.schema}".`;
  const members = given.enumValues.map(literal).join(", ");
  return [`CREATE TYPE ${schema}"${given.enumName}" AS ENUM (${members})`];
}

/** An enum of a schema is not called by it, nor is an array of one. */
function typeOf(column: Column): string {
  const type = column.getSQLType();
  const given = column.enum ?? column.baseColumn?.enum;
  return given?.schema === undefined ? type : `"${given.schema}".${type}`;
}

function columnLine(column: Column): string {
  const { name, primary, notNull, isUnique, generated, generatedIdentity: identity } = column;
  const brackets = "[]".repeat(column.isAlias === undefined ? 0 : column.dimensions ?? 0);
  return [
    `"${name}" ${typeOf(column)}${brackets}`,
    ...(primary ? ["PRIMARY KEY"] : []),
    ...(notNull ? ["NOT NULL"] : []),
    ...(isUnique ? ["UNIQUE"] : []),
    ...(column.default === undefined ? [] : [`DEFAULT ${defaultOf(column)}`]),
    ...(generated === undefined ? [] : [`GENERATED ALWAYS AS (${text(generated.as)}) STORED`]),
    ...(identity === undefined
      ? []
      : [`GENERATED ${identity.type === "always" ? "ALWAYS" : "BY DEFAULT"} AS IDENTITY`]),
  ].join(" ");
}

function defaultOf(column: Column): string {
  const { default: given } = column;
  if (typeof given === "object" && given !== null && "toQuery" in given) return `(${text(given)})`;
  return literal(column.mapToDriverValue(given));
}

function text(piece: unknown): string {
  // It was made by `sql` of Drizzle.
  return (piece as Sql).toQuery({
    escapeName: (name: string) => `"${name}"`,
    escapeParam: () => "?",
    escapeString: literal,
    casing: { getColumnCasing: ({ name }: Column) => name },
    inlineParams: true,
    invokeSource: "indexes",
  }).sql;
}

function literal(value: unknown): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `'${text.replaceAll("'", "''")}'`;
}

function names(columns: readonly Column[]): string {
  return columns.map(({ name }) => `"${name}"`).join(", ");
}

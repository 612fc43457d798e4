import type { ColumnReference } from "../table_constraints.ts";
import { type ColumnKind, InvalidValue } from "../kind.ts";
import {
  type ColumnDefault,
  type ColumnInfo,
  createTableInfo,
  type ForeignKey,
  plainColumn,
  serviceTimestampFormat,
  type TableInfo,
  type TimestampFormat,
} from "../table_info.ts";
import {
  aliasKey,
  columnsKey,
  convertedKind,
  dbNameOf,
  type DrizzleColumn,
  type DrizzleDialect,
  type DrizzleTable,
  type DrizzleType,
  nameKey,
  postgresForeignKeysKey,
  schemaKey,
  sqliteForeignKeysKey,
} from "./drizzle_structure.ts";
import { drizzlePostgresTables } from "./postgres_tables.ts";
import { readDrizzleConstraints } from "./drizzle_constraints.ts";
import { isDrizzleSql, sqlTextOf } from "./drizzle_sql.ts";
import { kindOfColumn } from "../structured/structured_value.ts";
import { kindsByName } from "../kinds/kind_properties.ts";

/** Describes a table of Drizzle. Throws an Error that names an unsupported table or column. */
export function describeDrizzleTable(table: DrizzleTable): TableInfo {
  const name = table[nameKey];
  if (table[aliasKey] === true) {
    throw new Error(`Cannot serve "${name}": it is an alias in a query of Drizzle, and no table`);
  }
  const dialect = dialectOf(table);
  if (dialect === null) {
    throw new Error(`Cannot serve "${name}": it is no table of SQLite or Postgres`);
  }
  const sources = Object.entries(table[columnsKey]);
  const { primaryKey, uniques, indexes, checks, ...more } = readDrizzleConstraints(table);
  const key = primaryKey ??
    sources.flatMap(([, { primary, ...column }]) => primary ? dbNameOf(column, table) : []);
  const foreignKeys = lazily(more.foreignKeys);
  const columns = sources.map(([property, column]) =>
    describeColumn(property, column, {
      ...{ name, dialect, key, uniques, source: table },
      referenceOf: (dbName) => referenceOf(dbName, foreignKeys()),
    })
  );
  return createTableInfo({
    ...{ name, columns, own: false, declared: true, engine: dialect.engine },
    schema: table[schemaKey] ?? null,
    primaryKey: keyColumns(columns, key, uniques),
    uniques: uniques.filter((names) => names.length > 1),
    ...{ indexes, checks },
    get foreignKeys() {
      return foreignKeys();
    },
  });
}

function dialectOf(table: DrizzleTable): DrizzleDialect | null {
  if (table[sqliteForeignKeysKey] !== undefined) return drizzleSqliteTables;
  return table[postgresForeignKeysKey] === undefined ? null : drizzlePostgresTables;
}

interface TableContext {
  readonly name: string;
  readonly source: DrizzleTable;
  readonly dialect: DrizzleDialect;
  readonly key: readonly string[];
  readonly uniques: readonly (readonly string[])[];
  readonly referenceOf: (dbName: string) => ColumnReference | null;
}

function describeColumn(name: string, source: DrizzleColumn, table: TableContext): ColumnInfo {
  const { generated, generatedIdentity: identity } = source;
  const dbName = dbNameOf(source, table.source);
  const isKey = table.key.includes(dbName);
  const place = `${table.name}.${name}`;
  const described: ColumnInfo = {
    ...plainColumn,
    ...inColumn(`${place}:`, () => table.dialect.typeOf(source)),
    name,
    dbName,
    notNull: source.notNull || isKey && table.dialect.hasWholeKeys,
    primaryKey: isKey,
    unique: source.isUnique === true ||
      table.uniques.some((names) => names.length === 1 && names[0] === dbName),
    // A column that is GENERATED ALWAYS AS IDENTITY is read-only, too.
    generated: generated !== undefined || identity?.type === "always",
    generatedSql: isDrizzleSql(generated?.as) ? sqlTextOf(generated.as) : null,
  };
  const isAssigned = table.dialect.isAssigned(source, isKey && table.key.length === 1);
  return Object.freeze({
    ...described,
    default: inColumn(
      `${place}: its default`,
      () => columnDefault(source, described, isAssigned),
    ),
    ...onUpdateOf(source, described),
    get references() {
      return table.referenceOf(dbName);
    },
  });
}

function inColumn<T>(place: string, describe: () => T): T {
  try {
    return describe();
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    throw new Error(`Cannot serve ${place} ${error.message}`, { cause: error });
  }
}

/** Returns the primary key. Without one, returns the smallest unique set of NOT NULL columns. */
function keyColumns(
  columns: readonly ColumnInfo[],
  key: readonly string[],
  uniques: readonly (readonly string[])[],
): readonly ColumnInfo[] {
  const byName = new Map(columns.map((column) => [column.dbName, column]));
  const ofNames = (names: readonly string[]) => names.flatMap((name) => byName.get(name) ?? []);
  if (key.length > 0) return ofNames(key);
  const alone = columns.flatMap((column) => column.unique ? [[column]] : []);
  const whole = [...alone, ...uniques.map(ofNames)].filter((some) =>
    some.every(({ notNull }) => notNull)
  );
  const [smallest = []] = whole.toSorted((a, b) => a.length - b.length);
  return smallest;
}

function referenceOf(dbName: string, keys: readonly ForeignKey[]): ColumnReference | null {
  const alone = keys.find(({ columns }) => columns.length === 1 && columns[0] === dbName);
  const [column] = alone?.references ?? [];
  if (alone === undefined || column === undefined) return null;
  return { schema: alone.schema, table: alone.table, column };
}

/** Calls `make` at the first access and only then: a referenced table can be declared later. */
function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
}

function columnDefault(
  source: DrizzleColumn,
  column: ColumnInfo,
  isAssigned: boolean,
): ColumnDefault | null {
  const { default: given, defaultFn, onUpdateFn } = source;
  const assigned = isAssigned ? { kind: "database", sql: null } as const : null;
  if (column.generated) return assigned;
  // As in Drizzle, a function precedes a constant, and a constant precedes `$onUpdate`.
  const make = defaultFn ?? (given === undefined ? onUpdateFn : undefined);
  if (make !== undefined) return { kind: "function", make: maker(make, source, column) };
  if (isDrizzleSql(given)) return { kind: "database", sql: sqlTextOf(given) };
  if (given === null) return null;
  if (given !== undefined) return { kind: "value", value: inProcess(given, source, column) };
  return assigned;
}

function onUpdateOf(source: DrizzleColumn, column: ColumnInfo): Pick<ColumnInfo, "onUpdate"> {
  const { onUpdateFn } = source;
  return onUpdateFn === undefined ? {} : { onUpdate: maker(onUpdateFn, source, column) };
}

function maker(make: () => unknown, source: DrizzleColumn, column: ColumnInfo): () => unknown {
  return () => {
    try {
      return inProcess(make(), source, column);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      const reason = `what its function of Drizzle gives ${error.message}`;
      throw new Error(`Cannot write ${column.name}: ${reason}`, { cause: error });
    }
  };
}

function inProcess(value: unknown, source: DrizzleColumn, column: ColumnInfo): unknown {
  if (value === null) return null;
  return kindOfColumn(column).fromJson(jsonOf(value, source, column), column);
}

function jsonOf(value: unknown, source: DrizzleColumn, column: ColumnInfo): unknown {
  if (isDrizzleSql(value)) {
    throw new InvalidValue("must be a value: SQL is a default by .default()");
  }
  if (value instanceof Date && column.timestampFormat === "epoch-seconds") {
    // The column stores whole seconds, to which Drizzle rounds down.
    return new Date(Math.floor(value.getTime() / 1000) * 1000);
  }
  // Drizzle stores the result of JSON.stringify, in which Dates are strings.
  if (column.kind === "json" && column.databaseType === undefined && typeof value === "object") {
    return JSON.parse(JSON.stringify(value));
  }
  // Drizzle must convert a structure, such as a point, to the string in the database.
  const isText = column.databaseType?.shape.kind === "text" || source.config?.customTypeParams;
  const isStructure = typeof value === "object" && column.kind !== "json";
  const mapped = column.converted === true || isText && isStructure;
  return mapped ? source.mapToDriverValue(value) : value;
}

export const drizzleSqliteTables: DrizzleDialect = {
  engine: "sqlite",
  typeOf: columnType,
  hasWholeKeys: false,
  isAssigned: (column, isKey) => isKey && column.getSQLType() === "integer",
};

function columnType(column: DrizzleColumn): DrizzleType {
  const existingType = column.getSQLType();
  const found = kinds.get(column.columnType) ?? customKind(column);
  if (found === undefined) throw new InvalidValue(faultOf(column));
  const { kind, ...converted } = convertedKind(column, found, 12);
  return {
    kind,
    precision: null,
    scale: null,
    maxLength: kind === "text" ? lengthOf(existingType) : null,
    enumValues: kind === "text" ? column.enumValues ?? null : null,
    existingType,
    timestampFormat: kind === "timestamp" ? momentFormat(column) : serviceTimestampFormat,
    ...converted,
  };
}

const kinds = kindsByName({
  text: ["SQLiteText"],
  integer: ["SQLiteInteger"],
  bigint: ["SQLiteNumericBigInt"],
  real: ["SQLiteReal", "SQLiteNumericNumber"],
  decimal: ["SQLiteNumeric"],
  boolean: ["SQLiteBoolean"],
  timestamp: ["SQLiteTimestamp"],
  date: [],
  uuid: [],
  json: ["SQLiteTextJson"],
  bytes: ["SQLiteBlobBuffer"],
});

function customKind(column: DrizzleColumn): ColumnKind | undefined {
  const type = column.getSQLType().toLowerCase();
  return column.columnType === "SQLiteCustomColumn" ? kindsOfTypes.get(type) : undefined;
}

const kindsOfTypes: ReadonlyMap<string, ColumnKind> = new Map([
  ["text", "text"],
  ["integer", "integer"],
  ["real", "real"],
  ["numeric", "decimal"],
  ["blob", "bytes"],
]);

function momentFormat({ mode }: DrizzleColumn): TimestampFormat {
  return mode === "timestamp_ms" ? "epoch-milliseconds" : "epoch-seconds";
}

function lengthOf(type: string): number | null {
  const digits = /\((\d+)\)/.exec(type)?.[1];
  return digits === undefined ? null : Number(digits);
}

function faultOf(column: DrizzleColumn): string {
  const { columnType } = column;
  switch (columnType) {
    case "SQLiteBlobJson":
      return 'it keeps JSON in a blob: use text({ mode: "json" }), or blob({ mode: "buffer" }) for bytes';
    case "SQLiteBigInt":
      return 'it keeps digits in a blob: use integer(), or numeric({ mode: "bigint" })';
    case "SQLiteCustomColumn":
      return `its custom type ${column.getSQLType()} is none of text, integer, real, numeric, blob`;
    default:
      return `no kind corresponds to its type ${columnType} (${column.getSQLType()})`;
  }
}

import { kindsByName } from "../kinds/kind_properties.ts";
import {
  type ColumnInfo,
  type DatabaseType,
  plainColumn,
  serviceTimestampFormat,
} from "../table_info.ts";
import type { ColumnKind } from "../kind.ts";
import {
  convertedKind,
  type DrizzleColumn,
  type DrizzleDialect,
  type DrizzleType,
} from "./drizzle_structure.ts";

export const drizzlePostgresTables: DrizzleDialect = {
  engine: "postgres",
  typeOf: columnType,
  hasWholeKeys: true,
  isAssigned: (column) =>
    column.generatedIdentity !== undefined || /serial$/i.test(column.getSQLType()),
};

function columnType(column: DrizzleColumn): DrizzleType {
  const { element, dimensions } = arrayOf(column);
  const type = scalarType(element);
  return dimensions === 0 ? type : listType(type, dimensions);
}

function arrayOf(column: DrizzleColumn): {
  readonly element: DrizzleColumn;
  readonly dimensions: number;
} {
  const { baseColumn } = column;
  // In the older release line of Drizzle, `dimensions` is the size of a vector, which is no array.
  const dimensions = column.isAlias === undefined ? 0 : column.dimensions ?? 0;
  if (column.columnType !== "PgArray" || baseColumn === undefined) {
    return { element: column, dimensions };
  }
  const inner = arrayOf(baseColumn);
  return { element: inner.element, dimensions: inner.dimensions + 1 };
}

function scalarType(column: DrizzleColumn): DrizzleType {
  const declared = column.getSQLType();
  const { name, numbers } = partsOf(declared);
  const found = column.enum === undefined ? kindOf(column, name) : undefined;
  if (found === undefined) return databaseTypeOf(column, name);
  const isText = found === "decimal" || name.startsWith("big");
  const { kind, ...converted } = convertedKind(column, found, isText ? "12" : 12);
  const [first = null, second = null] = numbers;
  // Drizzle cannot read fractions as bigints, so a column read as bigints has only whole numbers.
  const isWhole = first !== null || column.columnType === "PgNumericBigInt";
  return {
    ...plain,
    kind,
    // As in SQL, a precision without a scale means whole numbers.
    precision: kind === "decimal" ? first : null,
    scale: kind === "decimal" && isWhole ? second ?? 0 : null,
    maxLength: kind === "text" ? first : null,
    enumValues: kind === "text" ? column.enumValues ?? null : null,
    existingType: storedTypes.get(name) ?? declared,
    ...converted,
  };
}

const plain = {
  ...{ kind: "text", precision: null, scale: null, maxLength: null, enumValues: null },
  timestampFormat: serviceTimestampFormat,
} satisfies Partial<ColumnInfo>;

function partsOf(type: string): { readonly name: string; readonly numbers: readonly number[] } {
  const inside = /\(([^)]*)\)/.exec(type)?.[1] ?? "";
  return {
    name: type.replace(/\s*\([^)]*\)/, "").toLowerCase().trim(),
    numbers: inside.split(",").flatMap((part) => /^\s*\d+\s*$/.test(part) ? Number(part) : []),
  };
}

function kindOf({ columnType }: DrizzleColumn, name: string): ColumnKind | undefined {
  const byMode = kindsOfModes.get(columnType);
  return byMode ?? kindsOfTypes.get(name);
}

const kindsOfModes: ReadonlyMap<string, ColumnKind> = new Map([
  ["PgBigInt64", "bigint"],
  ["PgBigIntString", "bigint"],
  ["PgBigSerial64", "bigint"],
  ["PgNumericNumber", "real"],
]);

const kindsOfTypes = kindsByName({
  text: ["text", "varchar", "char"],
  integer: ["smallint", "smallserial", "integer", "serial", "bigint", "bigserial"],
  // No type name maps to this kind. Only the `mode` of a column selects it.
  bigint: [],
  real: ["real", "double precision"],
  decimal: ["numeric"],
  boolean: ["boolean"],
  timestamp: ["timestamp", "timestamp with time zone"],
  date: ["date"],
  uuid: ["uuid"],
  json: ["json", "jsonb"],
  bytes: ["bytea"],
});

const storedTypes: ReadonlyMap<string, string> = new Map([
  ["smallserial", "smallint"],
  ["serial", "integer"],
  ["bigserial", "bigint"],
]);

function databaseTypeOf(column: DrizzleColumn, name: string): DrizzleType {
  const type = column.enum === undefined
    ? knownTypes.get(name) ?? { sqlName: name, ordered: false, hasExtremes: false }
    : { sqlName: enumName(column.enum), ordered: true, hasExtremes: true };
  return {
    ...plain,
    enumValues: column.enum === undefined ? null : column.enumValues ?? null,
    existingType: column.getSQLType(),
    databaseType: { shape: { kind: "text" }, ignoresCase: name === "citext", ...type },
  };
}

type TypeTraits = Pick<DatabaseType, "sqlName" | "ordered" | "hasExtremes" | "configuration">;

const builtIn = (name: string, ordered: boolean, hasExtremes: boolean): TypeTraits => ({
  sqlName: `"pg_catalog".${quoted(name)}`,
  ordered,
  hasExtremes,
});

/** The traits of SQL types without a column kind. They must equal those in Postgres's catalog. */
const knownTypes: ReadonlyMap<string, TypeTraits> = new Map([
  ["inet", builtIn("inet", true, true)],
  ["cidr", builtIn("cidr", true, false)],
  ["macaddr", builtIn("macaddr", true, false)],
  ["macaddr8", builtIn("macaddr8", true, false)],
  ["interval", builtIn("interval", true, true)],
  ["time", builtIn("time", true, true)],
  ["time without time zone", builtIn("time", true, true)],
  ["time with time zone", builtIn("timetz", true, true)],
  ["money", builtIn("money", true, true)],
  ["bit", builtIn("bit", true, false)],
  ["bit varying", builtIn("varbit", true, false)],
  ["tsvector", { ...builtIn("tsvector", true, false), configuration: null }],
  ["point", builtIn("point", false, false)],
  ["line", builtIn("line", false, false)],
  ["citext", { sqlName: "citext", ordered: true, hasExtremes: true }],
]);

function enumName({ enumName, schema }: NonNullable<DrizzleColumn["enum"]>): string {
  return schema === undefined ? quoted(enumName) : `${quoted(schema)}.${quoted(enumName)}`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function listType(type: DrizzleType, dimensions: number): DrizzleType {
  const { databaseType, existingType, converted } = type;
  const element = { ...plainColumn, ...type, name: "element", dbName: "element" };
  // A cast needs the name without a number: `timestamp(3) with time zone` loses its `(3)`.
  const name = databaseType?.sqlName ?? partsOf(String(existingType)).name;
  return {
    ...plain,
    kind: "json",
    existingType: `${existingType}${"[]".repeat(dimensions)}`,
    ...(converted === true ? { converted } : {}),
    databaseType: {
      // Postgres has one array type for any number of dimensions, so one `[]` is sufficient.
      sqlName: `${name}[]`,
      shape: { kind: "list", element, delimiter: ",", dimensions },
      ordered: isOrdered(element),
      hasExtremes: isOrdered(element),
      ignoresCase: false,
    },
  };
}

/** Returns true if Postgres can sort lists of such elements. Postgres cannot sort `json`. */
function isOrdered({ databaseType, existingType }: ColumnInfo): boolean {
  return databaseType?.ordered ?? existingType !== "json";
}

import { kindsByName } from "../kinds/kind_properties.ts";
import { serviceTimestampFormat, type TimestampFormat } from "../table_info.ts";
import { type ColumnKind, InvalidValue } from "../kind.ts";
import {
  convertedKind,
  type DrizzleColumn,
  type DrizzleDialect,
  type DrizzleType,
} from "./drizzle_structure.ts";

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

/** Returns why a column cannot be served, e.g. because a blob contains JSON or digits. */
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

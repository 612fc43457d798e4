import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { ColumnKind } from "../../../schema/kind.ts";

const storageClasses: Readonly<Record<ColumnKind, string>> = {
  text: "TEXT",
  integer: "INTEGER",
  bigint: "INTEGER",
  real: "REAL",
  decimal: "NUMERIC",
  boolean: "INTEGER",
  timestamp: "TEXT",
  date: "TEXT",
  uuid: "TEXT",
  json: "TEXT",
  bytes: "BLOB",
};

export function sqliteColumnType(column: ColumnInfo): string {
  const { kind, precision, scale } = column;
  // SQLite ignores the numbers in a type. They are documentation for readers of the schema.
  return kind === "decimal" && precision !== null
    ? `NUMERIC(${precision},${scale ?? 0})`
    : storageClasses[kind];
}

/** The storage class to which SQLite converts the values that a column stores or compares. */
export type Affinity = "INTEGER" | "TEXT" | "BLOB" | "REAL" | "NUMERIC";

export function affinityOf(column: ColumnInfo): Affinity {
  return affinityOfType(column.existingType ?? sqliteColumnType(column));
}

/** Returns the affinity of a declared type, by SQLite's rules in SQLite's order. */
export function affinityOfType(declared: string): Affinity {
  if (/INT/i.test(declared)) return "INTEGER";
  if (/CHAR|CLOB|TEXT/i.test(declared)) return "TEXT";
  if (/BLOB/i.test(declared) || declared === "") return "BLOB";
  return /REAL|FLOA|DOUB/i.test(declared) ? "REAL" : "NUMERIC";
}

import { isCalendarDate, isInstant } from "../instant.ts";
import type { ColumnInfo } from "../table_info.ts";
import type { ColumnKind } from "../kind.ts";
import { isCanonicalUuid } from "./uuid_kind.ts";

/** Returns true for NULL and for values of the column's kind: SQLite can store other values. */
export function fitsKind(value: unknown, column: ColumnInfo): boolean {
  return value === null || fits[column.kind](value, column);
}

/** Returns the function that checks if a value has a column's kind. NULL is not allowed. */
export function kindTest({ kind }: ColumnInfo): (value: unknown, column: ColumnInfo) => boolean {
  return fits[kind];
}

const fits: Readonly<Record<ColumnKind, (value: unknown, column: ColumnInfo) => boolean>> = {
  text: (value) => typeof value === "string",
  integer: (value) => Number.isSafeInteger(value) || typeof value === "bigint",
  bigint: (value) => typeof value === "string" && /^-?\d+$/.test(value),
  // In an existing table, SQLite may have rounded a whole number beyond 2^53, so it is invalid.
  real: (value, { existingType }) =>
    Number.isFinite(value) &&
    (existingType === null || Number.isSafeInteger(value) || !Number.isInteger(value)),
  decimal: (value) => typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value),
  boolean: (value) => typeof value === "boolean",
  timestamp: (value) => typeof value === "string" && isInstant(value),
  date: (value) => typeof value === "string" && isCalendarDate(value),
  uuid: (value) => typeof value === "string" && isCanonicalUuid(value),
  // Needs no check: filters test JSON only for NULL, and an invalid base64 string equals no bytes.
  json: () => true,
  bytes: () => true,
};

import { isCalendarDate, isInstant } from "../instant.ts";
import type { ColumnInfo } from "../table_info.ts";
import type { ColumnKind } from "../kind.ts";
import { isCanonicalUuid } from "./uuid_kind.ts";

/**
 * Returns true if an in-process value is valid for its column's kind. NULL is always valid. Rows
 * may contain invalid values, because SQLite can store a string in a numeric column, for example.
 */
export function fitsKind(value: unknown, column: ColumnInfo): boolean {
  return value === null || fits[column.kind](value, column);
}

/** Returns a function that checks values of a column's kind. NULL must not be passed. */
export function kindTest({ kind }: ColumnInfo): (value: unknown, column: ColumnInfo) => boolean {
  return fits[kind];
}

const fits: Readonly<Record<ColumnKind, (value: unknown, column: ColumnInfo) => boolean>> = {
  text: (value) => typeof value === "string",
  integer: (value) => Number.isSafeInteger(value) || typeof value === "bigint",
  bigint: (value) => typeof value === "string" && /^-?\d+$/.test(value),
  // An integer beyond 2^53 may have lost digits when SQLite converted it to a double.
  real: (value, { existingType }) =>
    Number.isFinite(value) &&
    (existingType === null || Number.isSafeInteger(value) || !Number.isInteger(value)),
  decimal: (value) => typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value),
  boolean: (value) => typeof value === "boolean",
  timestamp: (value) => typeof value === "string" && isInstant(value),
  date: (value) => typeof value === "string" && isCalendarDate(value),
  uuid: (value) => typeof value === "string" && isCanonicalUuid(value),
  // Every value is valid for these kinds, because filters can only test them for NULL.
  json: () => true,
  bytes: () => true,
};

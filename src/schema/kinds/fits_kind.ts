import { isCalendarDate, isInstant } from "../instant.ts";
import type { ColumnInfo } from "../table_info.ts";
import type { ColumnKind } from "../kind.ts";
import { isCanonicalUuid } from "./uuid_kind.ts";

/**
 * Returns true if an in-process value fits the kind of its column. A row may hold other values, because
 * SQLite stores, for example, a string in a numeric column. NULL fits every kind.
 */
export function fitsKind(value: unknown, column: ColumnInfo): boolean {
  return value === null || fits[column.kind](value, column);
}

/**
 * Makes the test whether a value fits a column's kind, for testing many values; none of them may be
 * NULL.
 */
export function kindTest({ kind }: ColumnInfo): (value: unknown, column: ColumnInfo) => boolean {
  return fits[kind];
}

const fits: Readonly<Record<ColumnKind, (value: unknown, column: ColumnInfo) => boolean>> = {
  text: (value) => typeof value === "string",
  integer: (value) => Number.isSafeInteger(value) || typeof value === "bigint",
  bigint: (value) => typeof value === "string" && /^-?\d+$/.test(value),
  // An existing column may hold an integer that lost digits in its conversion to a double.
  real: (value, { existingType }) =>
    Number.isFinite(value) &&
    (existingType === null || Number.isSafeInteger(value) || !Number.isInteger(value)),
  decimal: (value) => typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value),
  boolean: (value) => typeof value === "boolean",
  timestamp: (value) => typeof value === "string" && isInstant(value),
  date: (value) => typeof value === "string" && isCalendarDate(value),
  uuid: (value) => typeof value === "string" && isCanonicalUuid(value),
  // These kinds have null tests only, for which every value fits.
  json: () => true,
  bytes: () => true,
};

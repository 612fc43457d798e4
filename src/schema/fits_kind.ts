import { isCalendarDate, isInstant } from "./instant.ts";
import type { ColumnInfo, ColumnKind } from "./table_info.ts";
import { isCanonicalUuid } from "./uuid_kind.ts";

/**
 * Whether a value as a row has it in process is one of the column's kind, and no misfit: a row
 * shows what is stored, also a text in a column for numbers. NULL fits everywhere.
 */
export function fitsKind(value: unknown, column: ColumnInfo): boolean {
  return value === null || fits[column.kind](value, column);
}

/** The test of a column's kind, for who asks of many values; none of them may be NULL. */
export function kindTest({ kind }: ColumnInfo): (value: unknown, column: ColumnInfo) => boolean {
  return fits[kind];
}

const fits: Readonly<Record<ColumnKind, (value: unknown, column: ColumnInfo) => boolean>> = {
  text: (value) => typeof value === "string",
  integer: (value) => Number.isSafeInteger(value) || typeof value === "bigint",
  bigint: (value) => typeof value === "string" && /^-?\d+$/.test(value),
  // A foreign column may hold an integer that lost digits on its way to a double.
  real: (value, { existingType }) =>
    Number.isFinite(value) &&
    (existingType === null || Number.isSafeInteger(value) || !Number.isInteger(value)),
  decimal: (value) => typeof value === "string" && /^-?\d+(?:\.\d+)?$/.test(value),
  boolean: (value) => typeof value === "boolean",
  timestamp: (value) => typeof value === "string" && isInstant(value),
  date: (value) => typeof value === "string" && isCalendarDate(value),
  uuid: (value) => typeof value === "string" && isCanonicalUuid(value),
  // They know null tests only, and any value there is one.
  json: () => true,
  bytes: () => true,
};

import type { ColumnKind } from "./kind.ts";

/**
 * Returns true if a string is a Postgres value that a column kind lacks, as a row shows it: an
 * infinity, NaN, or a day or timestamp before Christ or after the year 9999. A filter may compare
 * with it; a body may only return the value of the row.
 */
export function isSpecialValue(text: string, kind: ColumnKind): boolean {
  return specialValues[kind]?.test(text) === true;
}

const notANumber = /^(?:NaN|-?Infinity)$/;

const specialValues: Readonly<Partial<Record<ColumnKind, RegExp>>> = {
  real: notANumber,
  decimal: notANumber,
  date: /^(?:-?infinity|\d{4,7}-\d\d-\d\d BC|\d{5,7}-\d\d-\d\d)$/,
  timestamp:
    /^(?:-?infinity|(?=\d{5}|.* BC$)\d{4,6}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?(?:\+00)?(?: BC)?)$/,
};

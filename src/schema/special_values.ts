import { kindProperties } from "./kinds/kind_properties.ts";
import type { ColumnKind } from "./kind.ts";

/**
 * Returns true if a string is a Postgres value that a column kind cannot represent. These values
 * are infinities, NaN, and days or timestamps before Christ or after the year 9999. A filter may
 * compare with such a value. A body may only repeat the value that the row already has.
 */
export function isSpecialValue(text: string, kind: ColumnKind): boolean {
  return kindProperties[kind].special?.test(text) === true;
}

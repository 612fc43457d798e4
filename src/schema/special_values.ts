import { kindProperties } from "./kinds/kind_properties.ts";
import type { ColumnKind } from "./kind.ts";

/**
 * Returns true for a Postgres value that a kind cannot represent: an infinity, NaN, or a time
 * outside the years 1 to 9999. Filters can use such a value. A body can, if the row has the value.
 */
export function isSpecialValue(text: string, kind: ColumnKind): boolean {
  return kindProperties[kind].special?.test(text) === true;
}

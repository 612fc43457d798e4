import { kindProperties } from "./kinds/kind_properties.ts";
import type { ColumnKind } from "./kind.ts";

/**
 * Returns true if a string is a value of Postgres that a kind cannot represent: an infinity, NaN,
 * or a time before the year 1 or after the year 9999. Filters can compare with such a value. A body
 * can contain such a value only if the row already has it.
 */
export function isSpecialValue(text: string, kind: ColumnKind): boolean {
  return kindProperties[kind].special?.test(text) === true;
}

import { kindProperties } from "./kinds/kind_properties.ts";
import type { ColumnKind } from "./kind.ts";

/** True for an infinity, NaN, or a year outside 1 to 9999: filters can use such values. */
export function isSpecialValue(text: string, kind: ColumnKind): boolean {
  return kindProperties[kind].special?.test(text) === true;
}

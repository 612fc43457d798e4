import { isSpecialValue } from "../../../schema/special_values.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";

/**
 * Returns true if Postgres may store a value in another form than it was written. Documents have
 * spaces, trailing zeros of numbers and a separate null. Floats have −0. Some types have values
 * that their kinds lack.
 */
export function hasOtherForms(value: unknown, { kind, existingType }: ColumnInfo): boolean {
  if (existingType !== null && (kind === "json" || kind === "real" && value === 0)) return true;
  return typeof value === "string" && isSpecialValue(value, kind);
}

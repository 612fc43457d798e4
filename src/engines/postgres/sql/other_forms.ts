import { isSpecialValue } from "../../../schema/special_values.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";

/**
 * Returns true if Postgres may hold a value in another form than it is written in: documents have spaces,
 * zeros at the end of numbers and a null of their own; floats have −0; and some types have values
 * that their kinds have not.
 */
export function hasOtherForms(value: unknown, { kind, existingType }: ColumnInfo): boolean {
  if (existingType !== null && (kind === "json" || kind === "real" && value === 0)) return true;
  return typeof value === "string" && isSpecialValue(value, kind);
}

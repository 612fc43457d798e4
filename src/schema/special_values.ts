import { kindFacts } from "./kinds/kind_facts.ts";
import type { ColumnKind } from "./kind.ts";

/**
 * Returns true if a string is a Postgres value that a column kind lacks, as a row shows it: an
 * infinity, NaN, or a day or timestamp before Christ or after the year 9999. A filter may compare
 * with it; a body may only return the value of the row.
 */
export function isSpecialValue(text: string, kind: ColumnKind): boolean {
  return kindFacts[kind].special?.test(text) === true;
}

import { parse } from "csv-parse/sync";

/** Returns the number of records in a CSV string, including the header record. */
export function csvRows(text: string): number {
  return parse(text, { relax_column_count: true }).length;
}

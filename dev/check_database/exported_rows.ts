import type { CheckContext } from "./check_resource.ts";
import { csvRows } from "./csv_rows.ts";
import { parse } from "./json.ts";

type Row = Readonly<Record<string, unknown>>;

/** The rows of an export as NDJSON, and what is wrong with either form, each of so many rows. */
export async function exportedRows(
  path: string,
  { served, maxRows }: CheckContext,
  expected: number,
): Promise<{ readonly exported: readonly Row[]; readonly wrong: readonly string[] }> {
  const ndjson = await served.get(path, "application/x-ndjson");
  const lines = ndjson.text.split("\n").filter((line) => line !== "").slice(0, maxRows);
  const csv = await served.get(path, "text/csv");
  const count = Math.min(csvRows(csv.text) - 1, maxRows);
  const forms = [["NDJSON", ndjson.status, lines.length], ["CSV", csv.status, count]] as const;
  return {
    // The shape of a line, which the comparison shows to be so.
    exported: ndjson.status === 200 ? lines.map((line) => parse(line) as Row) : [],
    wrong: forms.filter(([, status, rows]) => status !== 200 || rows !== expected)
      .map(([form, status, rows]) => `${form} is ${status} with ${rows} rows, SQL has ${expected}`),
  };
}

import type { CheckContext } from "./check_resource.ts";
import { csvRows } from "./csv_rows.ts";
import { parse } from "./json.ts";

type Row = Readonly<Record<string, unknown>>;

/** Returns the rows of an NDJSON export, and the errors of both export forms. */
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
    // The cast is safe: the comparison detects any other shape of a line.
    exported: ndjson.status === 200 ? lines.map((line) => parse(line) as Row) : [],
    wrong: forms.filter(([, status, rows]) => status !== 200 || rows !== expected)
      .map(([form, status, rows]) => `${form} is ${status} with ${rows} rows, SQL has ${expected}`),
  };
}

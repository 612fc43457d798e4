import { parse } from "csv-parse/sync";

/** The media type of each format. */
export const asCsv = { accept: "text/csv" };
export const asNdjson = { accept: "application/x-ndjson" };

/** The records of a CSV as another parser reads them; an empty field without quotes is null. */
export function parseCsv(text: string): (string | null)[][] {
  return parse(text, {
    record_delimiter: "\r\n",
    cast: (value, { quoting }) => value === "" && !quoting ? null : value,
  });
}

/** The lines of NDJSON, each of which ends in a line feed. */
export function parseNdjson(text: string): unknown[] {
  const lines = text.split("\n");
  if (lines.pop() !== "") throw new Error("The last line has no end");
  return lines.map((line) => JSON.parse(line));
}

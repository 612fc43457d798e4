import { writeJson } from "../../schema/exact_json.ts";
import type { RowFormat } from "./row_format.ts";

/** Writes exported rows as NDJSON: each line is the JSON object of one row, as in a list. */
export const ndjson: RowFormat = {
  type: "application/x-ndjson",
  contentType: "application/x-ndjson",
  ending: ".ndjson",
  writer: () => ({
    head: "",
    write(rows) {
      let text = "";
      for (const row of rows) text += `${writeJson(row)}\n`;
      return text;
    },
  }),
};

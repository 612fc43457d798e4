import { writeJson } from "../../schema/exact_json.ts";
import type { RowFormat } from "./row_format.ts";

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

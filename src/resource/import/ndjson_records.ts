import { jsonExcess, parseShallowJson } from "../../schema/exact_json.ts";
import { bodyJsonLimits } from "../http/request_body.ts";
import type { ImportRecord, ImportRecords } from "./import_record.ts";
import { textBlocks } from "./text_blocks.ts";

/** What the records of a body are read with. */
export interface RecordOptions {
  /** The most bytes of one record. */
  readonly maxRecordBytes: number;
  /** The most names of members in one record. */
  readonly maxFields: number;
}

/** Reads NDJSON: a JSON value in each line. Lines of blanks alone are skipped. */
export async function* ndjsonRecords(
  parts: AsyncIterable<Uint8Array>,
  { maxRecordBytes, maxFields }: RecordOptions,
): ImportRecords {
  for await (const block of textBlocks(parts, { quotes: false, maxRecordBytes })) {
    const records: ImportRecord[] = [];
    let { line } = block;
    for (const text of block.text.split("\n")) {
      if (text !== "" && !blanks.test(text)) records.push(record(text, line, maxFields));
      line++;
    }
    yield records;
  }
}

const blanks = /^[ \t\r]*$/;

function record(text: string, line: number, maxFields: number): ImportRecord {
  const size = text.length;
  const limits = bodyJsonLimits(maxFields);
  const excess = jsonExcess(text, limits);
  if (excess !== null) {
    return { line, size, body: null, fault: `has more ${excess} than ${limits[excess]}` };
  }
  const body = parseShallowJson(text);
  return body === undefined
    ? { line, size, body: null, fault: "is not JSON" }
    : { line, size, body, fault: null };
}

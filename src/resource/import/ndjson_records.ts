import { exceededJsonLimit, parseCheckedJson } from "../../schema/exact_json.ts";
import { fromSafeBody } from "../../schema/safe_numbers.ts";
import { bodyJsonLimits } from "../http/request_body.ts";
import type { ImportReading } from "./import_options.ts";
import { ImportRecord, type ImportRecords } from "./import_record.ts";
import { recordTooLong, textBlocks, wholeLines } from "./text_blocks.ts";

export interface RecordOptions {
  readonly maxRecordBytes: number;
  readonly maxFields: number;
  /** True if the NDJSON can contain numbers in the form of `numbers=safe`. Default: false. */
  readonly safeNumbers?: boolean;
  readonly reading: ImportReading;
}

/** Reads NDJSON: a JSON value in each line. Blank lines are skipped. */
export async function* ndjsonRecords(
  parts: AsyncIterable<Uint8Array>,
  { maxRecordBytes, maxFields, safeNumbers = false, reading }: RecordOptions,
): ImportRecords {
  const limits = bodyJsonLimits(maxFields);
  for await (const block of textBlocks(parts, { ...reading, maxRecordBytes })) {
    let records: ImportRecord[] = [];
    let { line } = block;
    for (const text of wholeLines(block)) {
      if (text.length > maxRecordBytes) throw recordTooLong(maxRecordBytes, line);
      if (text !== "" && !blanks.test(text)) {
        const record = recordOf(text, line, limits);
        records.push(safeNumbers ? withMarksRead(record) : record);
      }
      line++;
      // The groups are small, because an invalid line takes much longer to parse than a valid line.
      if (records.length < recordsAtOnce) continue;
      yield records;
      records = [];
    }
    yield records;
  }
}

const recordsAtOnce = 1_024;

const blanks = /^[ \t\r]*$/;

function withMarksRead({ line, size, body, fault }: ImportRecord): ImportRecord {
  return new ImportRecord(line, size, fromSafeBody(body), fault);
}

function recordOf(
  text: string,
  line: number,
  limits: ReturnType<typeof bodyJsonLimits>,
): ImportRecord {
  const size = text.length;
  const excess = exceededJsonLimit(text, limits);
  if (excess !== null) {
    const message = `has more ${excess} than ${limits[excess]}`;
    return new ImportRecord(line, size, null, { path: "", message });
  }
  const body = parseCheckedJson(text);
  return body === undefined
    ? new ImportRecord(line, size, null, { path: "", message: "is not JSON" })
    : new ImportRecord(line, size, body);
}

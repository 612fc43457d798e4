import { exceededJsonLimit, parseCheckedJson } from "../../schema/exact_json.ts";
import { fromSafeBody } from "../../schema/safe_numbers.ts";
import { bodyJsonLimits } from "../http/request_body.ts";
import type { Resource } from "../model/resource.ts";
import { isPlainObject } from "../write/nested/parse/parse_row_id.ts";
import { mayWrite } from "../write/values/parse_fields.ts";
import type { ImportReading } from "./import_options.ts";
import { ImportRecord, type ImportRecords } from "./import_record.ts";
import { recordTooLong, textBlocks, wholeLines } from "./text_blocks.ts";

export interface RecordOptions {
  readonly maxRecordBytes: number;
  /** True if the NDJSON can contain numbers in the form of `numbers=safe`. Default: false. */
  readonly safeNumbers?: boolean;
  readonly reading: ImportReading;
}

/** Reads NDJSON: a JSON value in each line. Blank lines are skipped. */
export async function* ndjsonRecords(
  parts: AsyncIterable<Uint8Array>,
  resource: Resource,
  { maxRecordBytes, safeNumbers = false, reading }: RecordOptions,
): ImportRecords {
  const limits = bodyJsonLimits(resource.maxFields);
  const { map, ignoreExtra = false } = reading;
  const known = ignoreExtra ? knownNames(resource) : null;
  for await (const block of textBlocks(parts, { ...reading, maxRecordBytes })) {
    let records: ImportRecord[] = [];
    let { line } = block;
    for (const text of wholeLines(block)) {
      if (text.length > maxRecordBytes) throw recordTooLong(maxRecordBytes, line);
      if (text !== "" && !blanks.test(text)) {
        const record = renamed(recordOf(text, line, limits), map, known);
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

/** Renames the fields of a record, and omits the unknown fields if the known names are given. */
function renamed(
  record: ImportRecord,
  map: ImportReading["map"],
  known: ReadonlySet<string> | null,
): ImportRecord {
  const { line, size, body } = record;
  if (map.size === 0 && known === null || !isPlainObject(body)) return record;
  const fields = new Map<string, unknown>();
  for (const [given, value] of Object.entries(body)) {
    const name = map.get(given) ?? given;
    if (known?.has(name) === false) continue;
    if (fields.has(name)) {
      return new ImportRecord(line, size, null, { path: name, message: "occurs twice" });
    }
    fields.set(name, value);
  }
  return new ImportRecord(line, size, Object.fromEntries(fields));
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

/** Returns the field names that an export can contain and those that a body can set. */
export function knownNames(resource: Resource): ReadonlySet<string> {
  const { table, fields, computed, relations } = resource;
  const columns = table.columns.filter((column) =>
    fields.readable.includes(column) || mayWrite(column, resource)
  );
  return new Set([
    ...columns.map(({ name }) => name),
    ...computed.fields.map(([name]) => name),
    ...relations.keys(),
  ]);
}

import { parseJson } from "../../schema/exact_json.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Resource } from "../define/resource.ts";
import { type ImportRecord, type ImportRecords, UnreadableLine } from "./import_record.ts";
import type { RecordOptions } from "./ndjson_records.ts";
import { textBlocks, tooLong } from "./text_blocks.ts";

/**
 * Reads CSV (RFC 4180) as exports write it: names first, then a record for each row, in which an
 * empty field without quotes is NULL. Each record becomes the JSON object that a body would hold.
 * Throws an {@link UnreadableLine} for a name that stands twice and for quotes that do not match.
 */
export async function* csvRecords(
  parts: AsyncIterable<Uint8Array>,
  resource: Resource,
  { maxRecordBytes }: RecordOptions,
): ImportRecords {
  // Loaded by the first import alone.
  const { parse, CsvError } = await import("csv-parse/sync");

  /** The records of a block up to its end, or up to the fault that is given. */
  function parsed(text: string): { records: readonly CsvRecord[]; fault: string | null } {
    const records: CsvRecord[] = [];
    try {
      parse(text, {
        relax_column_count: true,
        cast: (value, { quoting }) => value === "" && !quoting ? null : value,
        on_record: (record: CsvRecord) => {
          records.push(record);
          return null;
        },
      });
      return { records, fault: null };
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      return { records, fault: faults[error.code] ?? "is not CSV" };
    }
  }

  let fields: readonly Field[] | null = null;
  for await (const block of textBlocks(parts, { quotes: true, maxRecordBytes })) {
    const { records, fault } = parsed(block.text);
    const size = Math.ceil(block.text.length / Math.max(1, records.length));
    const read: ImportRecord[] = [];
    let { line } = block;
    for (const record of records) {
      const at = { line, size };
      if (record.reduce((sum, text) => sum + (text?.length ?? 0), 0) > maxRecordBytes) {
        throw tooLong(maxRecordBytes, line);
      }
      line += linesOf(record);
      if (fields === null) fields = fieldsOf(record, at.line, resource);
      else if (!isBlank(record, fields)) read.push(recordOf(record, at, fields));
    }
    yield read;
    if (fault !== null) throw new UnreadableLine(line, fault);
  }
}

type CsvRecord = readonly (string | null)[];

/** How many lines a record has, whose fields may hold line feeds. */
function linesOf(record: CsvRecord): number {
  let lines = 1;
  for (const text of record) {
    if (text === null || !text.includes("\n")) continue;
    lines += text.split("\n").length - 1;
  }
  return lines;
}

/** Of a single field an empty line is a NULL. */
function isBlank(record: CsvRecord, fields: readonly Field[]): boolean {
  return record.length === 1 && record[0] === null && fields.length > 1;
}

const faults: Readonly<Record<string, string>> = {
  CSV_INVALID_CLOSING_QUOTE: "has text after a closing quote",
  INVALID_OPENING_QUOTE: "has a quote inside of a field that begins without one",
  CSV_QUOTE_NOT_CLOSED: "has a quote that is not closed",
};

interface Field {
  readonly name: string;
  readonly column: ColumnInfo | null;
}

function fieldsOf(
  names: CsvRecord,
  line: number,
  { table }: Resource,
): readonly Field[] {
  const seen = new Set<string>();
  return names.map((given) => {
    const name = given ?? "";
    if (seen.has(name)) throw new UnreadableLine(line, "stands twice in the names", name);
    seen.add(name);
    return { name, column: table.byName.get(name) ?? null };
  });
}

function recordOf(
  values: CsvRecord,
  at: Pick<ImportRecord, "line" | "size">,
  fields: readonly Field[],
): ImportRecord {
  if (values.length !== fields.length) {
    const fault = `has ${values.length} fields, and the names are ${fields.length}`;
    return { ...at, body: null, fault };
  }
  const body: Record<string, unknown> = {};
  for (const [index, { name, column }] of fields.entries()) {
    const text = values[index] ?? null;
    body[name] = text === null || column === null ? text : jsonValue(text, column);
  }
  return { ...at, body, fault: null };
}

/** The JSON value that an export writes as this text; a text that is none is refused by its kind. */
function jsonValue(text: string, { kind, databaseType }: ColumnInfo): unknown {
  if (databaseType !== undefined) {
    return databaseType.shape.kind === "text" ? text : parseJson(text) ?? text;
  }
  switch (kind) {
    case "integer":
    case "real":
      // JSON has no other spelling of numbers.
      return number.test(text) ? parseJson(text) ?? text : text;
    case "boolean":
      return text === "true" ? true : text === "false" ? false : text;
    case "json":
      return parseJson(text) ?? text;
    default:
      return text;
  }
}

const number = /^-?\d{1,400}(?:\.\d{1,1000})?(?:[eE][+-]?\d{1,4})?$/;

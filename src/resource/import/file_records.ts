import type { AcceptingOption, RecordFault } from "../../api/imports.ts";
import { didYouMean, nearestField, normalFormOf } from "../../problem/nearest_name.ts";
import { exceededJsonLimit, type JsonLimits, parseCheckedJson } from "../../schema/exact_json.ts";
import { InvalidValue } from "../../schema/kind.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { delimiters } from "../http/query_parameters.ts";
import { bodyJsonLimits } from "../http/request_body.ts";
import type { Resource } from "../model/resource.ts";
import { AmbiguousTime, canBeEmpty, csvValue, isTextual } from "./csv_value.ts";
import { formatMap, type ImportReading } from "./import_options.ts";
import { ImportRecord, type ImportRecords, UnreadableLine } from "./import_record.ts";
import { type CsvOptions, type CsvRecord, parseCsv } from "./parse_csv.ts";
import { recordTooLong, textBlocks, wholeLines } from "./text_blocks.ts";
import { fromSafeBody } from "../../schema/safe_numbers.ts";
import { isPlainObject } from "../write/nested/parse/parse_row_id.ts";
import { mayWrite } from "../write/values/parse_fields.ts";

/** Reads CSV (RFC 4180); an empty unquoted field is NULL. Throws {@link UnreadableLine}. */
export async function* csvRecords(
  parts: AsyncIterable<Uint8Array>,
  resource: Resource,
  { maxRecordBytes, reading }: RecordOptions,
): ImportRecords {
  const { encoding, null: nullText = null } = reading;
  const options = { limits: bodyJsonLimits(resource.maxFields), reading };
  const known = knownNames(resource);
  let delimiter = reading.delimiter ?? ",";
  let fields: readonly Field[] | null = null;
  for await (const block of textBlocks(parts, { encoding, maxRecordBytes })) {
    const read: ImportRecord[] = [];
    const { isLast } = block;
    let { text, line } = block;
    const separator = line === 1 ? separatorLine.exec(text) : null;
    if (separator !== null) {
      delimiter = reading.delimiter ?? separator[1] ?? delimiter;
      text = text.slice(separator[0].length);
      line++;
    }
    if (fields === null) requireDelimiter(text, { line, delimiter }, known, reading);
    const end = parseCsv(text, { line, isLast, delimiter, nullText }, (record) => {
      if (record.size > maxRecordBytes) throw recordTooLong(maxRecordBytes, record.line);
      // Skips an empty line. In a CSV with only one field, an empty line means NULL.
      if (fields?.length !== 1 && record.fields.every((field) => field === null)) return;
      if (fields === null) fields = fieldsOf(record, known, resource, reading);
      else read.push(recordOf(record, fields, options));
    });
    yield read;
    if (end.fault !== null) throw new UnreadableLine(end.line, end.fault);
    block.end = { at: block.text.length - text.length + end.at, line: end.line };
  }
}

/** Matches a first line such as `sep=;`, in which spreadsheets name the separator. */
const separatorLine = /^"?sep=([,;\t|:])"?(?:\r\n|[\r\n])/i;

interface Field {
  readonly name: string;
  readonly column: ColumnInfo | null;
}

/** Parses the header. An unknown name is an error, because the field's values would be lost. */
function fieldsOf(
  { fields, line }: CsvRecord,
  known: ReadonlySet<string>,
  resource: Resource,
  { map, ignoreExtra = false }: ImportReading,
): readonly Field[] {
  const { maxFields } = resource;
  if (fields.length > maxFields) {
    throw new UnreadableLine(line, `has more names than ${maxFields}`);
  }
  const given = fields.map((name) => name ?? "");
  for (const name of map.keys()) {
    if (given.includes(name)) continue;
    const hint = didYouMean(name, given);
    throw new UnreadableLine(line, `has no ${JSON.stringify(name)}, which "map" names${hint}`);
  }
  // Spreadsheets write commas after the last name if another line has more cells, or once had.
  while (given.length > 1 && given.at(-1) === "" && !map.has("")) given.pop();
  const names = given.map((name) => map.get(name) ?? name);
  const unknown = unknownName(given, known, map);
  if (!names.some((name) => known.has(name)) && unknown?.option?.name !== "map") {
    throw new UnreadableLine(line, "has no name of a field, as the first line of a CSV must");
  }
  if (unknown !== null && !ignoreExtra) {
    throw new UnreadableLine(line, unknown.message, unknown.path, unknown.option);
  }
  const seen = new Set<string>();
  return names.map((name) => {
    if (!known.has(name)) return { name, column: null };
    if (seen.has(name)) throw new UnreadableLine(line, "occurs twice in the header", name);
    seen.add(name);
    return { name, column: resource.table.byName.get(name) ?? null };
  });
}

/** Returns the error for unknown names in the header, with the import option that accepts them. */
function unknownName(
  given: readonly string[],
  known: ReadonlySet<string>,
  map: ImportReading["map"],
): RecordFault | null {
  const names = given.map((name) => map.get(name) ?? name);
  const free = [...known].filter((name) => !names.includes(name));
  const unknown = names.flatMap((name, index) =>
    known.has(name) ? [] : [{
      name,
      old: given[index] ?? "",
      near: index < maxCompared ? nearestField(name, free) : null,
    }]
  );
  const near = unknown.filter(({ near }) => near !== null);
  const [shown] = [...near, ...unknown];
  if (shown === undefined) return null;
  const hint = shown.near === null ? "" : `. Did you mean ${JSON.stringify(shown.near)}?`;
  const renamed = near.map(({ old, near }) => [old, near ?? ""] as const);
  return {
    path: shown.name.slice(0, 100),
    message: shown.name === "" ? "has a field without a name" : `is not a field${hint}`,
    option: near.length === 0
      ? ignoreExtraOption
      : { name: "map", value: formatMap(new Map([...map, ...renamed])) },
  };
}

/** The maximum number of header names to compare with all fields. The comparison is slow. */
const maxCompared = 200;

/** Throws if another separator splits the header into more names of known fields. */
function requireDelimiter(
  text: string,
  { line, delimiter }: Pick<CsvOptions, "line" | "delimiter">,
  known: ReadonlySet<string>,
  { map, delimiter: chosen }: ImportReading,
): void {
  const [header = ""] = /[^\r\n]+/.exec(text) ?? [];
  const plain = new Set([...known].map(normalFormOf));
  const count = (separator: string) => {
    let found = 0;
    parseCsv(header, { line, delimiter: separator, nullText: null, isLast: true }, ({ fields }) => {
      found = fields.filter((name) => {
        const given = name ?? "";
        return plain.has(normalFormOf((map.get(given) ?? given).trim()));
      }).length;
    });
    return found;
  };
  const now = count(delimiter);
  const other = delimiters.find((separator) => count(separator) > now);
  if (other === undefined || (chosen !== null && now > 0)) return;
  const option = { name: "delimiter" as const, value: other === "\t" ? "tab" : other };
  throw new UnreadableLine(line, `has names with ${option.value} between them`, "", option);
}

function recordOf(
  { fields: values, line, size, nullLike }: CsvRecord,
  fields: readonly Field[],
  { limits, reading }: { readonly limits: JsonLimits; readonly reading: ImportReading },
): ImportRecord {
  const refused = (path: string, message: string, option?: AcceptingOption) =>
    new ImportRecord(line, size, null, { path, message, option });
  const isLong = values.length > fields.length &&
    values.slice(fields.length).some((value) => value !== null);
  if (values.length < fields.length || (isLong && reading.ignoreExtra !== true)) {
    const message = `has ${values.length} fields, and the names are ${fields.length}`;
    return refused("", message, isLong ? ignoreExtraOption : undefined);
  }
  const body: Record<string, unknown> = {};
  for (const [index, { name, column }] of fields.entries()) {
    // An export can contain computed fields and relations, which an import ignores.
    if (column === null) continue;
    const value = values[index] ?? null;
    // Many programs quote all fields, so a quoted empty field can also mean NULL.
    const text = value === "" && !canBeEmpty(column) ? null : value;
    // If a NOT NULL column has an empty field, the field is omitted, so that the default applies.
    if (text === null && column.notNull) continue;
    if (text !== null && nullLike.includes(index) && meansNull(text, column, reading)) {
      const message = `is ${JSON.stringify(text)} without quotes, which may mean no value`;
      return refused(name, message, { name: "null", value: text });
    }
    try {
      body[name] = text === null ? null : csvValue(text, column, limits, reading.timestamps);
    } catch (error) {
      if (!(error instanceof InvalidValue)) throw error;
      const unit = error instanceof AmbiguousTime ? error.unit : null;
      return refused(
        name,
        error.message,
        unit === null ? undefined : { name: "timestamps", value: unit },
      );
    }
  }
  return new ImportRecord(line, size, body);
}

export const ignoreExtraOption: AcceptingOption = { name: "ignoreExtra", value: "true" };

/** Returns true if an unquoted word like `NULL` or `NA` probably means that a value is missing. */
function meansNull(text: string, column: ColumnInfo, { null: nullText }: ImportReading): boolean {
  if (isTextual(column)) return nullText === undefined && (text === "NULL" || text === "\\N");
  return column.kind !== "json" || text !== "null";
}

export interface RecordOptions {
  readonly maxRecordBytes: number;
  /** True for NDJSON with `numbers=safe`, in which large numbers can be strings. Default: false. */
  readonly safeNumbers?: boolean;
  readonly reading: ImportReading;
}

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
        const record = renamed(ndjsonRecordOf(text, line, limits), map, known);
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

/** Renames the fields of a record. If `known` is not null, omits the fields with other names. */
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

function ndjsonRecordOf(
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

import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import { didYouMean } from "../../problem/nearest_name.ts";
import { exceededJsonLimit, parseCheckedJson, parseJson } from "../../schema/exact_json.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";
import { bodyJsonLimits } from "../http/request_body.ts";
import { mayWrite } from "../write/values/parse_fields.ts";
import { ImportRecord, type ImportRecords, UnreadableLine } from "./import_record.ts";
import type { RecordOptions } from "./ndjson_records.ts";
import { type CsvRecord, parseCsv } from "./parse_csv.ts";
import { recordTooLong, textBlocks } from "./text_blocks.ts";

/**
 * Reads CSV (RFC 4180) in the format of exports: a header of names, then a record for each row. An
 * empty field without quotes is NULL. Yields each record as the JSON object that a create would
 * receive. Throws an {@link UnreadableLine} for a repeated name and for mismatched quotes.
 */
export async function* csvRecords(
  parts: AsyncIterable<Uint8Array>,
  resource: Resource,
  { maxRecordBytes, maxFields }: RecordOptions,
): ImportRecords {
  const limits = bodyJsonLimits(maxFields);
  let fields: readonly Field[] | null = null;
  for await (const block of textBlocks(parts, { quotes: true, maxRecordBytes })) {
    const read: ImportRecord[] = [];
    const fault = parseCsv(block.text, block.line, (record) => {
      if (record.size > maxRecordBytes) throw recordTooLong(maxRecordBytes, record.line);
      if (fields === null) fields = fieldsOf(record, resource);
      else if (!isBlank(record, fields)) read.push(recordOf(record, fields, limits));
    });
    yield read;
    if (fault !== null) throw new UnreadableLine(fault.line, fault.message);
  }
}

/** Returns true for an empty line. In a CSV with a single field, it is a row with NULL instead. */
function isBlank({ fields: [first, ...others] }: CsvRecord, fields: readonly Field[]): boolean {
  return first === null && others.length === 0 && fields.length > 1;
}

type JsonLimits = ReturnType<typeof bodyJsonLimits>;

interface Field {
  readonly name: string;
  readonly column: ColumnInfo | null;
}

/** Parses the header. An unknown name is an error, because the field's values would be lost. */
function fieldsOf({ fields, line }: CsvRecord, resource: Resource): readonly Field[] {
  const { maxFields } = resource;
  if (fields.length > maxFields) {
    throw new UnreadableLine(line, `has more names than ${maxFields}`);
  }
  const known = knownNames(resource);
  const seen = new Set<string>();
  return fields.map((given) => {
    const name = given ?? "";
    if (name === "") throw new UnreadableLine(line, "has a field without a name");
    if (seen.has(name)) throw new UnreadableLine(line, "stands twice in the names", name);
    if (!known.has(name)) {
      throw new UnreadableLine(
        line,
        `is not a field${didYouMean(name, [...known])}`,
        name.slice(0, 100),
      );
    }
    seen.add(name);
    return { name, column: resource.table.byName.get(name) ?? null };
  });
}

/** Returns the field names that an export can contain and those that a body can set. */
function knownNames(resource: Resource): ReadonlySet<string> {
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

function recordOf(
  { fields: values, line, size }: CsvRecord,
  fields: readonly Field[],
  limits: JsonLimits,
): ImportRecord {
  if (values.length !== fields.length) {
    const message = `has ${values.length} fields, and the names are ${fields.length}`;
    return new ImportRecord(line, size, null, { path: "", message });
  }
  const body: Record<string, unknown> = {};
  for (const [index, { name, column }] of fields.entries()) {
    const text = values[index] ?? null;
    // An export can contain computed fields and relations, which an import ignores.
    if (column === null) continue;
    // If a NOT NULL column has an empty field, the field is omitted, so that the default applies.
    if (text === null && column.notNull) continue;
    if (text === null) body[name] = null;
    else if (column.kind === "json" && column.databaseType === undefined) {
      const value = exceededJsonLimit(text, limits) === null ? parseCheckedJson(text) : undefined;
      if (value === undefined) {
        return new ImportRecord(line, size, null, { path: name, message: "must be JSON" });
      }
      body[name] = value;
    } else body[name] = jsonValue(text, column);
  }
  return new ImportRecord(line, size, body);
}

/** Converts an exported string to its JSON value. Returns a string unchanged if it has none. */
function jsonValue(text: string, { kind, databaseType }: ColumnInfo): unknown {
  if (databaseType?.shape.kind === "any") return numberOf(text);
  if (databaseType !== undefined) {
    return databaseType.shape.kind === "text" ? text : parseJson(text) ?? text;
  }
  switch (kindProperties[kind].json) {
    case "number":
      return numberOf(text);
    case "boolean":
      return text === "true" ? true : text === "false" ? false : text;
    default:
      return text;
  }
}

function numberOf(text: string): unknown {
  // A double represents a number of fewer than 16 digits exactly.
  if (text.length < 16 && shortNumber.test(text)) return Number(text);
  // A string that is no JSON number is returned unchanged.
  return number.test(text) ? parseJson(text) ?? text : text;
}

const shortNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const number = /^-?\d{1,400}(?:\.\d{1,1000})?(?:[eE][+-]?\d{1,4})?$/;

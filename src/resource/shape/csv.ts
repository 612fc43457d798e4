import { writeJson } from "../../schema/exact_json.ts";
import type { ColumnKind } from "../../schema/kind.ts";
import type { Row } from "../../schema/table_info.ts";
import type { View } from "./output.ts";
import type { RowFormat } from "./row_format.ts";

/**
 * Writes exported rows as CSV (RFC 4180): a header of property names, then a record for each row.
 * NULL is an empty field and the empty string is `""`, so that they differ; JSON is JSON text; every
 * other value is written as in JSON answers, without quotes. Where the resource escapes formulas,
 * what a spreadsheet would take for one has `'` before it; a number stays a number.
 */
export const csv: RowFormat = {
  type: "text/csv",
  contentType: "text/csv; charset=utf-8; header=present",
  ending: ".csv",
  writer(view, { escapesFormulas }) {
    const write = escapesFormulas ? escapedField : field;
    const fields = fieldsOf(view, write);
    return {
      head: record(fields.map(({ name }) => write(name))),
      write: (rows) => writeRows(rows, fields),
    };
  },
};

interface Field {
  readonly name: string;
  write(value: unknown): string;
}

function fieldsOf({ visible, computed }: View, write: Field["write"]): readonly Field[] {
  return [
    ...visible.map(({ name, kind }) => {
      if (kind === "json") return { name, write: jsonField };
      return { name, write: isTextOfNumber(kind) ? numberOr(write) : write };
    }),
    ...computed.fields.map(([name]) => ({ name, write })),
  ];
}

/** The kinds whose values are numbers with more digits than a number of JSON keeps. */
function isTextOfNumber(kind: ColumnKind): boolean {
  return kind === "decimal" || kind === "bigint";
}

/** A value of an existing table may be any string, whatever the kind of its column is. */
function numberOr(write: Field["write"]): Field["write"] {
  return (value) => typeof value === "string" && number.test(value) ? value : write(value);
}

const number = /^-?\d+(?:\.\d+)?$/;

function writeRows(rows: readonly Row[], fields: readonly Field[]): string {
  let text = "";
  for (const row of rows) text += record(fields.map(({ name, write }) => write(row[name])));
  return text;
}

function record(fields: readonly string[]): string {
  return `${fields.join(",")}\r\n`;
}

function field(value: unknown): string {
  if (value === null) return "";
  switch (typeof value) {
    case "string":
      return textField(value);
    case "number":
      // JSON writes other numbers as null.
      return Number.isFinite(value) ? String(value) : "";
    case "boolean":
    case "bigint":
      return String(value);
    default:
      return objectField(value);
  }
}

/** The written field, where a spreadsheet takes it for a string. */
function escapedField(value: unknown): string {
  if (typeof value === "string") return textField(formulaStart.test(value) ? `'${value}` : value);
  return field(value);
}

/**
 * What OWASP names, also in full width, which some spreadsheets take for the same. Documents begin
 * with none of these, except for negative numbers: a string in them has its quotes.
 */
const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/;

/** A string of a JSON column keeps its quotes: `"1"` is not `1`. */
function jsonField(value: unknown): string {
  return value === null ? "" : textField(writeJson(value));
}

/** A value of a computed field: a list or an object, or a Date, which is a string in JSON. */
function objectField(value: unknown): string {
  // `JSON.stringify` returns undefined for a function.
  const json: string | undefined = writeJson(value);
  if (json === undefined) return "";
  return json.startsWith('"') ? textField(JSON.parse(json)) : textField(json);
}

function textField(text: string): string {
  return needsQuotes(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** As in the RFC, and for space at either end, because many readers trim unquoted fields. */
function needsQuotes(text: string): boolean {
  return special.test(text) || text === "" || text.trim() !== text;
}

const special = /[",\r\n]/;

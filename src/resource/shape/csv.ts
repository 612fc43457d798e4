import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import { writeJson } from "../../schema/exact_json.ts";
import type { ColumnKind } from "../../schema/kind.ts";
import type { RowFormat } from "./row_format.ts";

/**
 * Writes exported rows as CSV (RFC 4180): a header of property names, then a record for each row.
 * NULL is an empty field, and the empty string is `""`. A JSON column is written as JSON. Every
 * other value is written as in JSON responses, without JSON's quotes. With `escapesFormulas`, `'`
 * is put before a value that a spreadsheet would evaluate, except for numbers.
 */
export const csv: RowFormat = {
  type: "text/csv",
  contentType: "text/csv; charset=utf-8; header=present",
  ending: ".csv",
  writer(view, { escapesFormulas, delimiter, bom }) {
    const write = escapesFormulas ? escapedField : field;
    const fields = [
      ...view.visible.map(({ name, kind }) => {
        if (kind === "json") return { name, write: jsonField };
        return { name, write: isTextOfNumber(kind) ? numberOr(write) : write };
      }),
      ...view.computed.fields.map(([name]) => ({ name, write })),
    ];
    // JSON and strings with a comma are already in quotes, whatever the delimiter is.
    const quoted = (text: string) =>
      text.includes(delimiter) && !text.startsWith('"') ? `"${text}"` : text;
    const record = (texts: readonly string[]) =>
      `${(delimiter === "," ? texts : texts.map(quoted)).join(delimiter)}\r\n`;
    return {
      head: (bom ? "\ufeff" : "") + record(fields.map(({ name }) => write(name))),
      write(rows) {
        let text = "";
        for (const row of rows) text += record(fields.map(({ name, write }) => write(row[name])));
        return text;
      },
    };
  },
};

interface Field {
  readonly name: string;
  write(value: unknown): string;
}

/** Returns true for kinds whose values can have more digits than a double can represent. */
function isTextOfNumber(kind: ColumnKind): boolean {
  return kindProperties[kind].arithmetic !== null && kindProperties[kind].json !== "number";
}

function numberOr(write: Field["write"]): Field["write"] {
  return (value) => typeof value === "string" && number.test(value) ? value : write(value);
}

const number = /^-?\d+(?:\.\d+)?$/;

function field(value: unknown): string {
  if (value === null) return "";
  switch (typeof value) {
    case "string":
      return textField(value);
    case "number":
      // JSON writes NaN and the infinite numbers as null, so the field is empty.
      return Number.isFinite(value) ? String(value) : "";
    case "boolean":
    case "bigint":
      return String(value);
    default:
      return objectField(value);
  }
}

function escapedField(value: unknown): string {
  if (typeof value === "string") return textField(formulaStart.test(value) ? `'${value}` : value);
  return field(value);
}

/**
 * The first characters of formulas (OWASP), and their full-width forms, which some spreadsheets
 * evaluate. JSON is no formula: of these characters, JSON begins only with a minus sign.
 */
const formulaStart = /^[=+\-@\t\r\n＝＋－＠]/;

/** A string in a JSON column keeps its quotes, because `"1"` and `1` are different values. */
function jsonField(value: unknown): string {
  return value === null ? "" : textField(writeJson(value));
}

function objectField(value: unknown): string {
  // `JSON.stringify` returns undefined for a function.
  const json: string | undefined = writeJson(value);
  if (json === undefined) return "";
  return json.startsWith('"') ? textField(JSON.parse(json)) : textField(json);
}

function textField(text: string): string {
  return needsQuotes(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Returns true if RFC 4180 requires quotes, or if readers may trim `text` or treat it as NULL. */
function needsQuotes(text: string): boolean {
  return special.test(text) || text === "" || text.trim() !== text;
}

const special = /[",\r\n]|^(?:NULL|\\N)$/;

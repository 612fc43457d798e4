import { parseShallowJson } from "./exact_json.ts";
import { safeKey } from "./kinds/any_key.ts";
import { exactNumber, isExactNumber } from "./exact_number.ts";
import { isAny, isDocument } from "./structured/kind_of_column.ts";
import type { ColumnInfo, ValueShape } from "./table_info.ts";

/**
 * Returns true if an `Accept` or `Content-Type` header names the safe form of JSON. In this form,
 * doubles can represent all numbers, so `JSON.parse` of JavaScript loses no digits. The client
 * library uses the safe form.
 */
export function asksForSafeNumbers(header: string): boolean {
  return header.includes("numbers=safe");
}

/**
 * Returns the safe form of a column's value. All integers of a column with `isWide` become strings
 * of digits, and so do other numbers that no double can represent. Documents become {@link
 * safeDocument}. In an `any` column, these numbers are marked as in documents, because a string is
 * a different value. Keys become {@link safeKey}.
 */
export function safeValue(value: unknown, column: ColumnInfo): unknown {
  if (isDocument(column)) return safeDocument(value);
  if (isAny(column)) return column.isWide ? safeKey(value) : safeAny(value);
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return column.isWide ? String(value) : value;
  return column.databaseType === undefined ? value : safeMember(value, column.databaseType.shape);
}

function safeAny(value: unknown): unknown {
  return typeof value === "bigint" ? { [mark]: String(value) } : value;
}

/**
 * Returns the safe form of a JSON document. A number that no double can represent becomes `{
 * "$number": "1e400" }`. An object that already has only this member is wrapped in another object,
 * so that both can be parsed.
 */
export function safeDocument(value: unknown): unknown {
  if (typeof value === "bigint") return { [mark]: String(value) };
  if (typeof value !== "object" || value === null) return value;
  if (isExactNumber(value)) return { [mark]: value.rawJSON };
  const safe = mapMembers(value, safeDocument);
  return isMarked(value) ? { [mark]: safe } : safe;
}

/** Returns the safe form of a computed value. Numbers that a double would round become strings. */
export function safeOutput(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null || "toJSON" in value) return value;
  return isExactNumber(value) ? value.rawJSON : mapMembers(value, safeOutput);
}

/**
 * Parses a body in the safe form. The client may have rounded a bare number beyond 2^53. Only
 * columns of doubles accept it. A marked number becomes a bigint or an `ExactNumber`.
 */
export function fromSafeBody(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null || isExactNumber(value)) return value;
  if (!isMarked(value)) return mapMembers(value, fromSafeBody);
  const { [mark]: inner } = value;
  if (typeof inner === "string" && numberText.test(inner)) return markedNumber(inner) ?? value;
  return isMarked(inner) ? mapMembers(inner, fromSafeBody) : mapMembers(value, fromSafeBody);
}

/** Converts a number in the form of {@link safeDocument} to a number, bigint or `ExactNumber`. */
export function parseSafeNumber(value: unknown): unknown {
  return isMarked(value) ? fromSafeBody(value) : value;
}

function markedNumber(text: string): unknown {
  const number = parseShallowJson(text);
  return mayBeRounded(number) ? exactNumber(text) : number;
}

/** Returns true for a number beyond 2^53, which a client with doubles may have rounded. */
export function mayBeRounded(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

const mark = "$number";

/** Matches a number with at most as many consecutive digits as a body may contain. */
const numberText = /^-?\d{1,1000}(?:\.\d{1,1000})?(?:[eE][+-]?\d{1,1000})?$/;

function isMarked(value: unknown): value is { readonly [mark]: unknown } {
  return typeof value === "object" && value !== null && Object.hasOwn(value, mark) &&
    Object.keys(value).length === 1;
}

function safeMember(value: unknown, shape: ValueShape): unknown {
  if (shape.kind === "list") {
    const { element } = shape;
    return Array.isArray(value)
      ? value.map((item) =>
        Array.isArray(item) ? safeMember(item, shape) : safeValue(item, element)
      )
      : value;
  }
  if (shape.kind !== "record" || typeof value !== "object" || value === null) return value;
  const columns = new Map(shape.fields.map((field) => [field.name, field]));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const column = columns.get(name);
      return [name, column === undefined ? member : safeValue(member, column)];
    }),
  );
}

/** Returns a copy with changed members. `fromEntries` can define a member named `__proto__`. */
function mapMembers(value: object, change: (member: unknown) => unknown): object {
  return Array.isArray(value)
    ? value.map(change)
    : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member)]));
}

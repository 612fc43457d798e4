import { parseCheckedJson } from "./exact_json.ts";
import { safeKey } from "./kinds/any_key.ts";
import { exactNumber, isExactNumber } from "./exact_number.ts";
import { isAny, isDocument } from "./structured/structured_value.ts";
import type { ColumnInfo, ValueShape } from "./table_info.ts";

/** True if a header asks for the safe form: JSON in which doubles represent all numbers exactly. */
export function asksForSafeNumbers(header: string): boolean {
  return header.includes("numbers=safe");
}

/**
 * Returns a column's value in the safe form (see {@link asksForSafeNumbers}). If a column can have
 * integers beyond 2^53 (`isWide`), all its integers become strings of digits. A bigint always does.
 * Documents and `any` columns have the forms of {@link safeDocument} and {@link safeKey}.
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
 * Returns a JSON document in the safe form: a number without an exact double becomes
 * `{ "$number": "1e400" }`, and an object with only `$number` is wrapped once more.
 */
export function safeDocument(value: unknown): unknown {
  if (typeof value === "bigint") return { [mark]: String(value) };
  if (typeof value !== "object" || value === null) return value;
  if (isExactNumber(value)) return { [mark]: value.rawJSON };
  const safe = mapMembers(value, safeDocument);
  return isMarked(value) ? { [mark]: safe } : safe;
}

export function safeOutput(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null || "toJSON" in value) return value;
  return isExactNumber(value) ? value.rawJSON : mapMembers(value, safeOutput);
}

/** Restores numbers marked with `$number`. Other bigints become doubles, because clients round. */
export function fromSafeBody(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null || isExactNumber(value)) return value;
  if (!isMarked(value)) return mapMembers(value, fromSafeBody);
  const { [mark]: inner } = value;
  if (typeof inner === "string" && numberText.test(inner)) return markedNumber(inner) ?? value;
  return isMarked(inner) ? mapMembers(inner, fromSafeBody) : mapMembers(value, fromSafeBody);
}

export function parseSafeNumber(value: unknown): unknown {
  return isMarked(value) ? fromSafeBody(value) : value;
}

function markedNumber(text: string): unknown {
  const number = parseCheckedJson(text);
  return mayBeRounded(number) ? exactNumber(text) : number;
}

/** Returns true for an integer beyond 2^53: a client with doubles may have rounded it. */
export function mayBeRounded(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

const mark = "$number";

/** Matches a number. As in request bodies, at most 1000 consecutive digits are allowed. */
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

/** Returns a copy with converted members. `fromEntries`, unlike `=`, can set `__proto__`. */
function mapMembers(value: object, change: (member: unknown) => unknown): object {
  return Array.isArray(value)
    ? value.map(change)
    : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member)]));
}

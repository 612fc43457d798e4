import { parseShallowJson } from "./exact_json.ts";
import { safeKey } from "./kinds/any_key.ts";
import { exactNumber, isExactNumber } from "./exact_number.ts";
import { isAny, isDocument } from "./structured/kind_of_column.ts";
import type { ColumnInfo, ValueShape } from "./table_info.ts";

/**
 * Returns true if an `Accept` header asks for safe numbers, or a `Content-Type` says them: JSON that
 * a program can read whose only numbers are doubles, as `JSON.parse` of JavaScript. The client does.
 */
export function asksForSafeNumbers(header: string): boolean {
  return header.includes("numbers=safe");
}

/**
 * The safe form of a column's value: integers of a wide column are strings of digits, as are values
 * of other columns that no double has; documents are as {@link safeDocument} writes them. In a column
 * of any values a string is something else: an integer that no double has is marked as in documents,
 * and keys are as {@link safeKey} writes them.
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
 * The safe form of a JSON document: a number that no double has is `{ "$number": "1e400" }`. An
 * object that has this one member already is written within another, so that both can be read.
 */
export function safeDocument(value: unknown): unknown {
  if (typeof value === "bigint") return { [mark]: String(value) };
  if (typeof value !== "object" || value === null) return value;
  if (isExactNumber(value)) return { [mark]: value.rawJSON };
  const safe = mapMembers(value, safeDocument);
  return isMarked(value) ? { [mark]: safe } : safe;
}

/** The safe form of what code has made: numbers that no double has are strings of digits. */
export function safeOutput(value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null || "toJSON" in value) return value;
  return isExactNumber(value) ? value.rawJSON : mapMembers(value, safeOutput);
}

/**
 * What a body in the safe form means. A bare number beyond 2^53 in it is the double that its sender
 * had, which all columns but those of doubles refuse: it may have been rounded. A marked one is a
 * bigint or an `ExactNumber`.
 */
export function fromSafeBody(value: unknown): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value === null || isExactNumber(value)) return value;
  if (!isMarked(value)) return mapMembers(value, fromSafeBody);
  const { [mark]: inner } = value;
  if (typeof inner === "string" && numberText.test(inner)) return markedNumber(inner) ?? value;
  return isMarked(inner) ? mapMembers(inner, fromSafeBody) : mapMembers(value, fromSafeBody);
}

/** Returns a value from code. A marked number is a number, a bigint or an `ExactNumber` then. */
export function fromMark(value: unknown): unknown {
  return isMarked(value) ? fromSafeBody(value) : value;
}

function markedNumber(text: string): unknown {
  const number = parseShallowJson(text);
  return mayBeRounded(number) ? exactNumber(text) : number;
}

/** True for a number beyond 2^53, which a program whose numbers are doubles may have rounded. */
export function mayBeRounded(value: unknown): boolean {
  return Number.isInteger(value) && !Number.isSafeInteger(value);
}

const mark = "$number";

/** As many digits as a body may have one after the other. */
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

/** A copy with other members. `fromEntries` also defines a member `__proto__`. */
function mapMembers(value: object, change: (member: unknown) => unknown): object {
  return Array.isArray(value)
    ? value.map(change)
    : Object.fromEntries(Object.entries(value).map(([name, member]) => [name, change(member)]));
}

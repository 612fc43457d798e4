import { plainDecimal, shortestDecimal } from "./kinds/number_kinds.ts";
import { exactNumber } from "./exact_number.ts";
import { kindProperties } from "./kinds/kind_properties.ts";
import type { ColumnInfo } from "./table_info.ts";

/** Maximum nesting depth. Some thousand levels would overflow the stack of recursive functions. */
const maxLevels = 512;

/** Parses JSON and keeps all digits. Returns undefined for invalid JSON, or above 512 levels. */
export function parseJson(text: string): unknown {
  return exceededJsonLimit(text, { levels: maxLevels, names: Infinity, digits: Infinity }) === null
    ? parseCheckedJson(text)
    : undefined;
}

export function parseCheckedJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    // `readExactly` needs valid JSON. `JSON.parse` has just accepted this string.
    return misread.test(text) ? readExactly(text) : value;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Matches JSON that `JSON.parse` may misread: long numbers, large exponents, and names of one
 * escaped character (Deno 2.9 reads `\` in `{"a":{},"\n":1}`). Also matches some harmless JSON.
 */
const misread =
  /\d(?:[\d.]{15}|[eE][+-]?\d{3}(?<=(?:^|[[:,\s])-?\d[\d.]*[eE][+-]?\d{3}))|"\\[^u]"\s*:/;

export interface JsonLimits {
  readonly levels: number;
  /** Maximum number of members in all objects. Eight arrays or objects count as one member. */
  readonly names: number;
  /** Maximum number of consecutive digits. Parsing a long number takes much time. */
  readonly digits: number;
}

/** This many arrays or objects count as one member, because GeoJSON consists mostly of arrays. */
const containersPerName = 8;

/** Returns the name of the limit that a string exceeds, or null. Accepts invalid JSON, too. */
export function exceededJsonLimit(
  text: string,
  { levels, names, digits }: JsonLimits,
): keyof JsonLimits | null {
  // Short strings fit: a level has at least two characters, and a member at least five (`"":1,`).
  const { length } = text;
  if (length <= 2 * levels && length <= 5 * names && length <= digits) return null;
  let open = 0;
  let containers = 0;
  let named = 0;
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = closingQuote(text, at);
    } else if (isDigit(code)) {
      const start = at;
      while (isDigit(text.charCodeAt(at + 1))) at++;
      if (at - start >= digits) return "digits";
    } else if (code === openBracket || code === openBrace) {
      if (++open > levels) return "levels";
      if (++containers > containersPerName * names) return "names";
    } else if (code === closeBracket || code === closeBrace) {
      open--;
    } else if (code === colon && ++named > names) {
      return "names";
    }
  }
  return null;
}

function isDigit(code: number): boolean {
  return code >= zero && code <= nine;
}

export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The value contains a bigint, which needs a replacer. A replacer would slow down other values.
    return JSON.stringify(
      value,
      (_key, member) => typeof member === "bigint" ? exactNumber(String(member)) : member,
    );
  }
}

/** Returns each member of a JSON object as original text, with all digits. `text` must be valid. */
export function rawJsonMembers(text: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  let at = afterSpace(text, text.indexOf("{") + 1);
  while (text.charCodeAt(at) === quote) {
    const keyEnd = closingQuote(text, at) + 1;
    const key = text.slice(at + 1, keyEnd - 1);
    const start = afterSpace(text, text.indexOf(":", keyEnd) + 1);
    const end = endOfValue(text, start);
    members.set(key.includes("\\") ? JSON.parse(`"${key}"`) : key, text.slice(start, end));
    at = afterSpace(text, end);
    if (text.charCodeAt(at) === comma) at = afterSpace(text, at + 1);
  }
  return members;
}

export function rawJsonItems(text: string): readonly string[] {
  const items: string[] = [];
  let at = afterSpace(text, text.indexOf("[") + 1);
  while (at < text.length && text.charCodeAt(at) !== closeBracket) {
    const end = endOfValue(text, at);
    items.push(text.slice(at, end));
    at = afterSpace(text, end);
    if (text.charCodeAt(at) === comma) at = afterSpace(text, at + 1);
  }
  return items;
}

function afterSpace(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) <= space) at++;
  return at;
}

function endOfValue(text: string, start: number): number {
  let open = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = closingQuote(text, at);
    } else if (code === openBracket || code === openBrace) {
      open++;
    } else if (code === closeBracket || code === closeBrace) {
      if (open === 0) return at;
      open--;
    } else if (open === 0 && (code === comma || code <= space)) {
      return at;
    }
  }
  return text.length;
}

function closingQuote(text: string, at: number): number {
  let end = at;
  let backslashes: number;
  do {
    end = text.indexOf('"', end + 1);
    if (end < 0) return text.length;
    backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === backslash) backslashes++;
  } while (backslashes % 2 === 1);
  return end;
}

const space = 0x20;
const comma = 0x2c;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Parses valid JSON without losing digits. A reviver is fifty times slower for number arrays. */
function readExactly(text: string): unknown {
  let at = afterSpace(text, 0);

  function readValue(): unknown {
    const code = text.charCodeAt(at);
    if (code === quote) return readString();
    if (code === openBracket) return readArray();
    if (code === openBrace) return readObject();
    const start = at;
    at = endOfValue(text, start);
    const source = text.slice(start, at);
    if (source === "null") return null;
    if (source === "true") return true;
    if (source === "false") return false;
    const value = Number(source);
    if (/^-?\d+$/.test(source)) return Number.isSafeInteger(value) ? value : BigInt(source);
    return isExact(source, value) ? value : exactNumber(source);
  }

  function readString(): string {
    const start = at;
    at = closingQuote(text, start) + 1;
    const raw = text.slice(start + 1, at - 1);
    return raw.includes("\\") ? JSON.parse(text.slice(start, at)) : raw;
  }

  function readArray(): unknown[] {
    const items: unknown[] = [];
    while (hasNext(closeBracket)) items.push(readValue());
    return items;
  }

  function readObject(): object {
    const members: Record<string, unknown> = {};
    while (hasNext(closeBrace)) {
      const name = readString();
      at = afterSpace(text, afterSpace(text, at) + 1);
      const value = readValue();
      if (name === "__proto__") defineOwn(members, name, value);
      else members[name] = value;
    }
    return members;
  }

  function hasNext(close: number): boolean {
    at = afterSpace(text, at);
    if (text.charCodeAt(at) !== close) {
      at = afterSpace(text, at + 1);
      if (text.charCodeAt(at) !== close) return true;
    }
    at++;
    return false;
  }

  return readValue();
}

function isExact(source: string, value: number): boolean {
  if (source === String(value)) return true;
  if (!Number.isFinite(value)) return false;
  const [meant, kept] = [plainDecimal(source), plainDecimal(String(value))];
  return meant !== null && kept !== null && shortestDecimal(meant) === shortestDecimal(kept);
}

/** Defines a member of an object. Assigning `__proto__` would change the prototype. */
function defineOwn(members: object, name: string, value: unknown): void {
  const attributes = { enumerable: true, configurable: true, writable: true };
  Object.defineProperty(members, name, { value, ...attributes });
}

/** Returns a string for a value of a column. Only equal values have equal strings. */
export function canonicalValueText(value: unknown, column: ColumnInfo): string {
  // JSON keeps the structure of nested lists. `String` would flatten them.
  const text = typeof value === "object" && value !== null ? writeJson(value) : String(value);
  // With quotes, the string "5" differs from the number 5 in an `any` column.
  if (column.databaseType?.shape.kind === "any" && typeof value === "string") return `"${text}"`;
  // `1.50` equals `1.5` in a decimal column without a fixed scale.
  return kindProperties[column.kind].arithmetic === "decimal" ? shortestDecimal(text) : text;
}

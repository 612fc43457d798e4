/**
 * Above any real use. A reviver and `JSON.stringify` recurse for each level and overflow the stack
 * at some thousand levels; `JSON.parse` without a reviver does not.
 */
const maxLevels = 512;

/**
 * Parses JSON exactly: keeps all digits of integers beyond 2^53, as bigints. Returns `undefined`,
 * which is no JSON value, for text that is not JSON or is nested deeper than 512 levels.
 */
export function parseJson(text: string): unknown {
  if (isDeeper(text, maxLevels)) return undefined;
  try {
    // A reviver makes parsing several times slower; only long runs of digits can need it.
    return /\d{16}/.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Writes JSON exactly, with bigints as plain digits. */
export function writeJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // There is a bigint inside, which is rare: a replacer makes writing several times slower.
    return JSON.stringify(
      value,
      (_key, member) => typeof member === "bigint" ? digits(member) : member,
    );
  }
}

/**
 * The exact raw JSON texts of an object's members, by name. `text` must be valid JSON, as a
 * database generates it. Numbers keep all their digits, and a nested document keeps its own text.
 */
export function jsonMembers(text: string): ReadonlyMap<string, string> {
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

/** Whether brackets outside of strings are nested deeper than `levels`. */
function isDeeper(text: string, levels: number): boolean {
  if (text.length <= 2 * levels) return false;
  let open = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      at = closingQuote(text, at);
    } else if (code === openBracket || code === openBrace) {
      if (++open > levels) return true;
    } else if (code === closeBracket || code === closeBrace) {
      open--;
    }
  }
  return false;
}

/** The offset of the quote that closes the string at `at`; the length of the text without one. */
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
const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const source = context?.source;
  return typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined &&
      /^-?\d+$/.test(source)
    ? BigInt(source)
    : value;
}

function digits(value: bigint): unknown {
  // JSON.rawJSON is newer than the type library of the compiler.
  const json = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
  return json.rawJSON(String(value));
}

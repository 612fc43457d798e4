/**
 * The text of a JSON value as the client gives it, with the numbers that no double has as they are
 * stored: the client has them as `{ "$number": "1e400" }`.
 */
export function documentText(value: unknown, indent = 0): string {
  return JSON.stringify(shown(value), null, indent).replace(/"\\u0000#([^"]*)"/g, "$1");
}

/** Reads the text of a JSON value for the client. Throws a SyntaxError. */
export function readDocument(text: string): unknown {
  return sent(readMarked(text));
}

/** Reads the text of a JSON value, with strings for the numbers that no double has. */
export function readWithStrings(text: string): unknown {
  const plain = (value: unknown): unknown => markedDigits(value) ?? mapped(value, plain);
  return plain(readMarked(text));
}

const mark = "\0#";

function markedDigits(value: unknown): string | null {
  return typeof value === "string" && value.startsWith(mark) ? value.slice(mark.length) : null;
}

/** Numbers that no double has become strings that begin with the mark, which no document has. */
function readMarked(text: string): unknown {
  // What is no JSON is refused as it was written.
  JSON.parse(text);
  return JSON.parse(
    text.replace(
      /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g,
      (part) => part.startsWith('"') || isHeld(part) ? part : `"\\u0000#${part}"`,
    ),
  );
}

/** Whether a double is this number: it has the same digits in the same place. */
function isHeld(text: string): boolean {
  const value = Number(text);
  if (/^-?\d+$/.test(text)) return Number.isSafeInteger(value);
  return digitsOf(text) === digitsOf(String(value));
}

function digitsOf(text: string): string {
  const [, digits = "", exponent = "0"] = /^-?([\d.]*)(?:[eE](.*))?$/.exec(text) ?? [];
  const [whole = "", fraction = ""] = digits.split(".");
  const all = `${whole}${fraction}`.replace(/0+$/, "");
  const place = whole.length + Number(exponent) - (/^0*/.exec(all)?.[0].length ?? 0);
  const significant = all.replace(/^0+/, "");
  return significant === "" ? "0" : `${significant}e${place}`;
}

function innerOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Object.keys(value).join() !== "$number") {
    return undefined;
  }
  return Object(value).$number;
}

function shown(value: unknown): unknown {
  const inner = innerOf(value);
  if (typeof inner === "string") return mark + inner;
  const escaped = innerOf(inner);
  return escaped === undefined ? mapped(value, shown) : { $number: shown(escaped) };
}

function sent(value: unknown): unknown {
  const digits = markedDigits(value);
  if (digits !== null) return { $number: digits };
  const inner = innerOf(value);
  return inner === undefined ? mapped(value, sent) : { $number: { $number: sent(inner) } };
}

function mapped(value: unknown, change: (member: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, change(one)]));
}

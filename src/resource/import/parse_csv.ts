export interface CsvRecord {
  /** The fields of the record. An empty field without quotes is null. */
  readonly fields: readonly (string | null)[];
  /** The line where the record begins, counted from 1. */
  readonly line: number;
  readonly size: number;
}

/** A syntax error in a CSV: the line of the record, and a message that completes "line 3 …". */
export interface CsvFault {
  readonly line: number;
  readonly message: string;
}

/**
 * Parses CSV (RFC 4180), whose lines may end in CR LF, LF or CR. The first line has the number
 * `firstLine`. Calls `take` with each record, and returns the first fault, or null at the end.
 * Misplaced quotes are a fault, because the string would be ambiguous.
 */
export function parseCsv(
  text: string,
  firstLine: number,
  take: (record: CsvRecord) => void,
): CsvFault | null {
  const { length } = text;
  let line = firstLine;
  const failed = (message: string) => ({ line, message });
  for (let at = 0; at < length;) {
    const recordStart = at;
    const fields: (string | null)[] = [];
    let feeds = 0;
    for (;; at++) {
      const start = at;
      if (text.charCodeAt(at) === quote) {
        at = closingQuote(text, start);
        if (at === length) return failed("has a quote that is not closed");
        const field = unquoted(text, start, at++);
        if (!endsField(text.charCodeAt(at))) return failed("has text after a closing quote");
        feeds += feedsIn(field);
        fields.push(field);
      } else {
        while (!endsField(text.charCodeAt(at))) {
          if (text.charCodeAt(at++) === quote) {
            return failed("has a quote inside of a field that begins without one");
          }
        }
        fields.push(at === start ? null : text.slice(start, at));
      }
      if (text.charCodeAt(at) !== comma) break;
    }
    take({ fields, line, size: at - recordStart });
    line += 1 + feeds;
    if (text.charCodeAt(at) === carriageReturn && text.charCodeAt(at + 1) === lineFeed) at++;
    at++;
  }
  return null;
}

const quote = 0x22;
const comma = 0x2c;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Returns true if this character code ends a field. At the end of the string, it is NaN. */
function endsField(code: number): boolean {
  return code === comma || code === lineFeed || code === carriageReturn || Number.isNaN(code);
}

/** Returns the offset of the closing quote, or the length of the string if there is none. */
function closingQuote(text: string, start: number): number {
  for (let from = start + 1;;) {
    const at = text.indexOf('"', from);
    if (at < 0) return text.length;
    if (text.charCodeAt(at + 1) !== quote) return at;
    from = at + 2;
  }
}

function unquoted(text: string, start: number, end: number): string {
  const field = text.slice(start + 1, end);
  return field.includes('"') ? field.replaceAll('""', '"') : field;
}

function feedsIn(field: string): number {
  return field.includes("\n") ? field.split("\n").length - 1 : 0;
}

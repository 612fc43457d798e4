import { feedsIn } from "./text_blocks.ts";

export interface CsvRecord {
  /** The fields of the record. An empty field without quotes is null. */
  readonly fields: readonly (string | null)[];
  readonly line: number;
  readonly size: number;
  /** The indexes of the fields without quotes that another program may have written for NULL. */
  readonly nullLike: readonly number[];
}

export interface CsvOptions {
  readonly line: number;
  readonly delimiter: string;
  /** The unquoted field that means NULL, besides the empty field. Null if there is none. */
  readonly nullText: string | null;
  readonly isLast: boolean;
}

/** Returns the end of the last whole record. For invalid CSV, `fault` completes "line 3 …". */
export function parseCsv(
  text: string,
  { line: firstLine, delimiter, nullText, isLast }: CsvOptions,
  take: (record: CsvRecord) => void,
) {
  const { length } = text;
  const comma = delimiter.charCodeAt(0);
  let line = firstLine;
  let recordStart = 0;
  const ended = (fault: string | null) => ({ at: recordStart, line, fault });
  for (let at = 0; at < length;) {
    recordStart = at;
    const fields: (string | null)[] = [];
    let nullLike: number[] | null = null;
    let feeds = 0;
    for (;; at++) {
      const start = at;
      if (text.charCodeAt(at) === quote) {
        at = closingQuote(text, start);
        if (at === length) return ended(isLast ? "has a quote that is not closed" : null);
        const field = unquoted(text, start, at++);
        if (!endsField(text.charCodeAt(at), comma)) return ended("has text after a closing quote");
        feeds += feedsIn(field);
        fields.push(field);
      } else {
        while (!endsField(text.charCodeAt(at), comma)) {
          // In tab-separated files, programs do not quote fields: a quote is a part of the field.
          if (text.charCodeAt(at++) === quote && delimiter !== "\t") {
            return ended("has a quote inside of a field that begins without one");
          }
        }
        const field = text.slice(start, at);
        const isNull = at === start || field === nullText;
        // Skips the lookup for most numbers: no word in `nullWords` begins with a digit.
        if (!isNull && at - start <= 4 && text.charCodeAt(start) > 0x39 && nullWords.has(field)) {
          (nullLike ??= []).push(fields.length);
        }
        fields.push(isNull ? null : field);
      }
      if (text.charCodeAt(at) !== comma) break;
    }
    // The next part of the body may continue this record, or begin with the LF of a CR LF.
    const isCarriageReturn = text.charCodeAt(at) === carriageReturn;
    if (!isLast && at + (isCarriageReturn ? 1 : 0) >= length) return ended(null);
    take({ fields, line, size: at - recordStart, nullLike: nullLike ?? none });
    line += 1 + feeds;
    if (isCarriageReturn && text.charCodeAt(at + 1) === lineFeed) at++;
    recordStart = ++at;
  }
  return ended(null);
}

/** The words that MySQL, Postgres, R, pandas and spreadsheets write for a missing value. */
const nullWords: ReadonlySet<string> = new Set(
  ["NULL", "\\N", "null", "NA", "N/A", "NaN", "nan", "None", "nil"],
);
const none: readonly number[] = [];

const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Returns true if this character code ends a field. At the end of the string, the code is NaN. */
function endsField(code: number, comma: number): boolean {
  return code === comma || code === lineFeed || code === carriageReturn || Number.isNaN(code);
}

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

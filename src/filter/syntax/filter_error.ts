import { Problem } from "../../problem/problem.ts";

const quotedLength = 20;

/** A fault in a filter's text; `position` is the UTF-16 offset of the first offending character. */
export function filterError(position: number, expected: string, detail: string): Problem {
  return new Problem("filter-parse-error", detail, { details: { position, expected } });
}

/** A filter that is too large; `limit` completes "it may hold at most …". */
export function filterTooLarge(position: number, limit: string): Problem {
  const expected = `at most ${limit}`;
  return filterError(position, expected, `Cannot read the filter: it may hold ${expected}`);
}

/** Input for a message: at most 20 characters, never half a surrogate pair. */
export function excerptOf(text: string): string {
  const end = text.length > quotedLength && isLowSurrogate(text.charCodeAt(quotedLength))
    ? quotedLength - 1
    : quotedLength;
  return JSON.stringify(text.slice(0, end).toWellFormed());
}

/** Where a moment has lost the + of its offset: how to keep it. */
export function plusHint(text: string): string {
  return /\dT[\d:.]+ \d\d:?\d\d/i.test(text) ? "; a + in a URL is a space: write %2B" : "";
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

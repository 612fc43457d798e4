import { Problem } from "../../problem/problem.ts";

const quotedLength = 20;

/** Returns a filter's error. `position` is the UTF-16 offset of the first wrong character. */
export function filterError(
  position: number,
  expected: string,
  detail: string,
  cause?: Error,
): Problem {
  return new Problem("filter-parse-error", detail, { details: { position, expected }, cause });
}

export function unreadableFilter(position: number, expected: string, fault: string): Problem {
  return filterError(position, expected, `Cannot read the filter at ${position}: ${fault}`);
}

/** Returns the error of a filter that is too large. `limit` completes "it may hold at most …". */
export function filterTooLarge(position: number, limit: string): Problem {
  const expected = `at most ${limit}`;
  return filterError(position, expected, `Cannot read the filter: it may hold ${expected}`);
}

/** Returns at most 20 characters of a string for a message, never half a surrogate pair. */
export function excerptOf(text: string): string {
  const end = text.length > quotedLength && isLowSurrogate(text.charCodeAt(quotedLength))
    ? quotedLength - 1
    : quotedLength;
  return JSON.stringify(text.slice(0, end).toWellFormed());
}

/** Returns a hint if the `+` of a time zone, as in `T12:00+02:00`, was decoded as a space. */
export function plusHint(text: string): string {
  return /\dT[\d:.]+ \d\d:?\d\d/i.test(text) ? "; a + in a URL is a space: write %2B" : "";
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

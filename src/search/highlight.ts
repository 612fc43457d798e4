import { escapeHtml } from "../protocol/escape_html.ts";
import { locateWords } from "./search_query.ts";

/** Maximum length of a string that is highlighted as a whole, in UTF-16 code units. */
const maxWhole = 300;
/** How many code units of a longer string are shown before and after a match. */
const around = 80;
const maxFragments = 5;

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Marks found words with `<em>` and escapes HTML. Long strings are cut to the first matches. */
export function highlight(
  text: string,
  isMatch: (word: string) => boolean,
): readonly string[] {
  const matches: Span[] = [];
  for (const { from, to, folded } of locateWords(text)) {
    if (folded.some(isMatch)) matches.push({ from, to });
  }
  if (matches.length === 0) return [];
  if (text.length <= maxWhole) return [mark(text, { from: 0, to: text.length }, matches)];
  return fragmentsAround(matches, text).map((span) => mark(text, span, matches));
}

function fragmentsAround(matches: readonly Span[], text: string): readonly Span[] {
  const fragments: { from: number; to: number }[] = [];
  for (const { from, to } of matches) {
    const last = fragments.at(-1);
    const end = Math.min(text.length, to + around);
    if (last !== undefined && from - around <= last.to && end - last.from <= maxWhole) {
      last.to = end;
    } else if (last === undefined || from >= last.to) {
      if (fragments.length === maxFragments) break;
      fragments.push({ from: Math.max(last?.to ?? 0, from - around), to: end });
    }
  }
  return fragments.map(({ from, to }) => ({
    from: wholeCharacter(text, from),
    to: wholeCharacter(text, to),
  }));
}

/** Returns the index, or the index before it if the index would split a surrogate pair. */
function wholeCharacter(text: string, index: number): number {
  return /[\udc00-\udfff]/.test(text.charAt(index)) ? index - 1 : index;
}

function mark(text: string, within: Span, matches: readonly Span[]): string {
  let html = "";
  let at = within.from;
  for (const { from, to } of matches) {
    if (from < at || to > within.to) continue;
    html += `${escapeHtml(text.slice(at, from))}<em>${escapeHtml(text.slice(from, to))}</em>`;
    at = to;
  }
  return html + escapeHtml(text.slice(at, within.to));
}

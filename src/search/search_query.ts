import { invalidParameter, type Problem } from "../problem/problem.ts";

/** A part of the parameter `q` between spaces, with at least one word. */
export interface SearchTerm {
  /** The words in lower case, without diacritics. In a match, the words are adjacent, in order. */
  readonly words: readonly string[];
}

/** A parsed search. A match contains every term. The last word of `q` can be a prefix of a word. */
export interface SearchQuery {
  /** At least one term. {@link parseSearchQuery} returns null for a search without terms. */
  readonly terms: readonly SearchTerm[];
}

const maxLength = 1_000;
const maxTerms = 32;

/** Parses `q`; null if it contains no words. Throws a 400 if `q` is missing, empty or too long. */
export function parseSearchQuery(q: string | undefined): SearchQuery | null {
  if (q === undefined || q.trim() === "") {
    throw refused("q is missing: write the words to find, as in ?q=tea");
  }
  if (q.length > maxLength) throw refused(`q has more than ${maxLength} characters`);
  const terms = q.split(/\s+/u).map(wordsOf).filter((words) => words.length > 0)
    .map((words) => ({ words }));
  if (terms.length > maxTerms) throw refused(`q has more than ${maxTerms} words`);
  return terms.length === 0 ? null : { terms };
}

export function wordsAsWritten(
  words: readonly string[],
  { terms }: SearchQuery,
): ReadonlySet<string> {
  const wanted = new Set(terms.flatMap((term) => term.words));
  const last = terms.at(-1)?.words.at(-1);
  return new Set(
    words.filter((word) => wanted.has(word) || (last !== undefined && word.startsWith(last))),
  );
}

function refused(message: string): Problem {
  return invalidParameter(`Cannot search: ${message}`);
}

/** A word and its place in a string. Words are compared in their folded form: {@link wordsOf}. */
export interface Word {
  readonly from: number;
  readonly to: number;
  /** The folded form: usually one word, but several words for some ligatures and fractions. */
  readonly folded: readonly string[];
}

/** Matches words. In scripts without spaces, each letter is a word and several are a phrase. */
const wordPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[[\p{L}\p{N}\p{M}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]]+/gv;

const plainWordPattern = /[a-z0-9]+/g;

/** Maximum length of an indexed word. Longer words are truncated, because engines have limits. */
const maxWordLength = 64;

/** Returns folded words: lower case, no diacritics, unified letters. All engines use them. */
export function wordsOf(text: string): readonly string[] {
  if (isAscii(text)) return text.toLowerCase().match(plainWordPattern)?.map(cut) ?? [];
  const words: string[] = [];
  for (const [found] of text.matchAll(wordPattern)) words.push(...foldWord(found));
  return words;
}

/** Maximum length of an indexed document, in characters. Engines reject longer documents. */
const maxDocumentLength = 250_000;

export function documentWords(texts: readonly string[]): readonly string[] {
  let left = maxDocumentLength;
  return texts.map((text) => {
    const part = text.slice(0, left);
    left -= part.length;
    return wordsOf(part).join(" ");
  });
}

export function* locateWords(text: string): Generator<Word> {
  for (const { 0: found, index } of text.matchAll(wordPattern)) {
    yield { from: index, to: index + found.length, folded: foldWord(found) };
  }
}

function foldWord(word: string): readonly string[] {
  const lower = word.toLowerCase();
  if (isAscii(lower)) return [cut(lower)];
  // Removes the marks that scripts share. Marks of one script, such as Hindi vowels, are letters.
  const plain = lower.normalize("NFKD").replaceAll(/[\p{M}&&\p{Script=Inherited}]+/gv, "")
    .normalize("NFC").replaceAll("ς", "σ");
  return plain.match(/[\p{L}\p{N}\p{M}]+/gu)?.map(cut) ?? [];
}

function cut(word: string): string {
  if (word.length <= maxWordLength) return word;
  // A truncated word must not end with half of a surrogate pair.
  return word.slice(0, maxWordLength).replace(/[\ud800-\udbff]$/, "");
}

function isAscii(text: string): boolean {
  // deno-lint-ignore no-control-regex -- all of ASCII
  return /^[\x00-\x7f]*$/.test(text);
}

/** A word in a string. Words are compared by their folded form. */
export interface Word {
  readonly from: number;
  readonly to: number;
  /** The folded words, usually one. A ligature or a fraction may have several. */
  readonly folded: readonly string[];
}

/**
 * Matches sequences of letters, digits and diacritical marks. In scripts without spaces between
 * words, each letter is a word. Several letters are then found as a phrase.
 */
const wordPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[[\p{L}\p{N}\p{M}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]]+/gv;

const plainWordPattern = /[a-z0-9]+/g;

/** Maximum length of an indexed word. Longer words are truncated, because engines have limits. */
const maxWordLength = 64;

/**
 * Returns the words of a string, folded: lower case, without diacritics, compatible letters
 * unified. Every engine receives these words, in the index and in a search, so that all agree on
 * what a word is.
 */
export function wordsOf(text: string): readonly string[] {
  if (isAscii(text)) return text.toLowerCase().match(plainWordPattern)?.map(cut) ?? [];
  const words: string[] = [];
  for (const [found] of text.matchAll(wordPattern)) words.push(...foldWord(found));
  return words;
}

/** The maximum indexed length of a document in characters. Engines reject larger documents. */
const maxDocumentLength = 250_000;

/** Returns the words of each string of a document, separated by spaces, as engines index them. */
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
  // Marks of a particular script, such as the vowels of Hindi, count as letters.
  const plain = lower.normalize("NFKD").replaceAll(/[\p{M}&&\p{Script=Inherited}]+/gv, "")
    .normalize("NFC").replaceAll("ς", "σ");
  return plain.match(/[\p{L}\p{N}\p{M}]+/gu)?.map(cut) ?? [];
}

function cut(word: string): string {
  if (word.length <= maxWordLength) return word;
  // A word must not end in half of a surrogate pair.
  return word.slice(0, maxWordLength).replace(/[\ud800-\udbff]$/, "");
}

function isAscii(text: string): boolean {
  // deno-lint-ignore no-control-regex -- all of ASCII
  return /^[\x00-\x7f]*$/.test(text);
}

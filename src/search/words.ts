/** A word in a text, and the form of it that is compared. */
export interface Word {
  readonly from: number;
  readonly to: number;
  /** Mostly one: a ligature or a fraction may have several. */
  readonly folded: readonly string[];
}

/**
 * Letters, digits and their marks, as long as they last; in scripts without spaces between words
 * each letter is one, so that several of them are found as a phrase.
 */
const wordPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[[\p{L}\p{N}\p{M}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]]+/gv;

const plainWordPattern = /[a-z0-9]+/g;

/** Longer words are cut: what is so long is no word, and engines have limits. */
const maxWordLength = 64;

/**
 * The words of a text, folded: lower case, without diacritics, compatible letters alike. Every
 * engine is given these words, in the index as in a search, so that all of them agree on what a word
 * is.
 */
export function wordsOf(text: string): readonly string[] {
  if (isAscii(text)) return text.toLowerCase().match(plainWordPattern)?.map(cut) ?? [];
  const words: string[] = [];
  for (const [found] of text.matchAll(wordPattern)) words.push(...foldWord(found));
  return words;
}

/** The most characters of one document whose words are indexed: engines refuse larger ones. */
const maxDocumentLength = 250_000;

/** The words of each text of a document with a space between them: what engines index. */
export function documentWords(texts: readonly string[]): readonly string[] {
  let left = maxDocumentLength;
  return texts.map((text) => {
    const part = text.slice(0, left);
    left -= part.length;
    return wordsOf(part).join(" ");
  });
}

/** The words of a text and where they stand in it. */
export function* locateWords(text: string): Generator<Word> {
  for (const { 0: found, index } of text.matchAll(wordPattern)) {
    yield { from: index, to: index + found.length, folded: foldWord(found) };
  }
}

function foldWord(word: string): readonly string[] {
  const lower = word.toLowerCase();
  if (isAscii(lower)) return [cut(lower)];
  // Marks of a script of its own are letters in all but name, such as the vowels of Hindi.
  const plain = lower.normalize("NFKD").replaceAll(/[\p{M}&&\p{Script=Inherited}]+/gv, "")
    .normalize("NFC").replaceAll("ς", "σ");
  return plain.match(/[\p{L}\p{N}\p{M}]+/gu)?.map(cut) ?? [];
}

function cut(word: string): string {
  if (word.length <= maxWordLength) return word;
  // Half of a surrogate pair is no character.
  return word.slice(0, maxWordLength).replace(/[\ud800-\udbff]$/, "");
}

function isAscii(text: string): boolean {
  // deno-lint-ignore no-control-regex -- all of ASCII
  return /^[\x00-\x7f]*$/.test(text);
}

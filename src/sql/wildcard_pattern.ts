/** Finds each part between `%` at its first occurrence, with few steps for each character. */
export function matchesWildcards(text: string, pattern: string): boolean {
  const [first = [], ...others] = partsOf(pattern);
  const last = others.pop();
  const from = endOfPrefix(text, first);
  if (last === undefined || from < 0) return from === text.length;
  const to = startOfSuffix(text, last);
  if (to < from) return false;
  let at = from;
  for (const part of others) {
    at = endOfFirst(text, part, at, to);
    if (at < 0) return false;
  }
  return true;
}

/** Returns the length of the longest part between two `%`, which SQLite tries at each position. */
export function maxPartLength(pattern: string): number {
  return Math.max(...partsOf(pattern).map(({ length }) => length));
}

type Part = readonly number[];

const anyCharacter = -1;

function partsOf(pattern: string): readonly Part[] {
  let part: number[] = [];
  const parts = [part];
  let isEscaped = false;
  for (const character of pattern) {
    if (isEscaped || !/[%_\\]/.test(character)) part.push(character.codePointAt(0) ?? 0);
    else if (character === "_") part.push(anyCharacter);
    else if (character === "%") parts.push(part = []);
    isEscaped = character === "\\" && !isEscaped;
  }
  return parts;
}

function endOfPrefix(text: string, part: Part, from = 0): number {
  let at = from;
  for (const code of part) {
    const is = text.codePointAt(at);
    if (is === undefined || (code !== anyCharacter && code !== is)) return -1;
    at += is > 0xffff ? 2 : 1;
  }
  return at;
}

function startOfSuffix(text: string, part: Part): number {
  let at = text.length;
  for (let left = part.length; left > 0; left--) {
    // A low surrogate always has its high surrogate before it, because strings are well-formed.
    at -= (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00 ? 2 : 1;
    if (at < 0) return -1;
  }
  return endOfPrefix(text, part, at) === text.length ? at : -1;
}

function endOfFirst(text: string, part: Part, from: number, to: number): number {
  if (part.length === 0) return from;
  if (part.includes(anyCharacter)) return endOfFirstPattern(text, part, from, to);
  const literal = String.fromCodePoint(...part);
  const at = text.indexOf(literal, from);
  return at < 0 || at + literal.length > to ? -1 : at + literal.length;
}

/** Shift-And: bit n is set if the last n + 1 characters match the first n + 1 of the part. */
function endOfFirstPattern(text: string, part: Part, from: number, to: number): number {
  const { words, masks, other, offsets } = masksOf(part);
  const state = new Int32Array(words);
  const found = 1 << ((part.length - 1) & 31);
  for (let at = from; at < to;) {
    let code = text.charCodeAt(at++);
    if ((code & 0xfc00) === 0xd800) code = text.codePointAt(at++ - 1) ?? code;
    const offset = code < asciiCodes ? code * words : offsets.get(code) ?? other;
    let bits = 0;
    let carry = 1;
    for (let word = 0; word < words; word++) {
      const before = state[word] ?? 0;
      bits = ((before << 1) | carry) & (masks[offset + word] ?? 0);
      state[word] = bits;
      carry = before >>> 31;
    }
    if ((bits & found) !== 0) return at;
  }
  return -1;
}

/**
 * Returns a mask for each character: bit n is set if the part matches the character at position n.
 * A mask has `words` integers of 32 bits. `masks` contains the masks of the ASCII characters in
 * their order, then those of the part's other characters at their `offsets`. At `other` is the mask
 * of all characters that the part lacks, which match only a `_`.
 */
function masksOf(part: Part) {
  const words = Math.ceil(part.length / 32);
  const others = [...new Set(part.filter((code) => code >= asciiCodes))];
  const offsets = new Map(others.map((code, index) => [code, (asciiCodes + 1 + index) * words]));
  const other = asciiCodes * words;
  const masks = new Int32Array(other + (others.length + 1) * words);
  part.forEach((code, place) => {
    const word = place >>> 5;
    const bit = 1 << (place & 31);
    const set = (at: number) => masks[at + word] = (masks[at + word] ?? 0) | bit;
    if (code !== anyCharacter) set(offsets.get(code) ?? code * words);
    else for (let at = 0; at < masks.length; at += words) set(at);
  });
  return { words, masks, other, offsets };
}

const asciiCodes = 128;

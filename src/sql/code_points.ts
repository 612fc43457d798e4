/** Returns the number of code points in a string, which is its length in the databases. */
export function countCodePoints(text: string): number {
  let pairs = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0xd800 && code < 0xdc00) pairs++;
  }
  return text.length - pairs;
}

export function firstCodePoints(text: string, count: number): string | null {
  if (text.length <= count) return null;
  let end = 0;
  for (let left = count; left > 0; left--) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1;
  return end < text.length ? text.slice(0, end) : null;
}

/** The upper bound of a range search: the smallest string after all strings with the prefix. */
export function upperBoundOfPrefix(prefix: string): string | null {
  const characters = Array.from(prefix);
  for (;;) {
    const last = characters.pop()?.codePointAt(0);
    if (last === undefined) return null;
    if (last === 0x10ffff) continue;
    // Surrogates are no code points of a string, so the code point after U+D7FF is U+E000.
    const next = last === 0xd7ff ? 0xe000 : last + 1;
    return characters.join("") + String.fromCodePoint(next);
  }
}

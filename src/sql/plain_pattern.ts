/**
 * A LIKE pattern that is plain, no more than a literal text, as the operator that does the same.
 */
export interface PlainPattern {
  /** `%text%`, `text%` or `%text`. */
  readonly operator: "contains" | "startsWith" | "endsWith";
  /** The text, its escapes taken out. */
  readonly text: string;
}

/**
 * A plain LIKE pattern as its literal text; null when it has other wildcards, or none at all.
 * Searching a string is many times faster than trying a pattern at every position.
 */
export function plainPattern(pattern: string): PlainPattern | null {
  const [, before, literal = "", after] = plain.exec(pattern) ?? [];
  if (!before && !after) return null;
  const text = literal.replace(/\\([^])/g, "$1");
  return { operator: !before ? "startsWith" : after ? "contains" : "endsWith", text };
}

/** Returns true if a LIKE pattern is plain: it has no wildcard but a `%` at either end. */
export function isPlain(pattern: string): boolean {
  return plain.test(pattern);
}

const plain = /^(%?)((?:[^%_\\]|\\[^])*)(%?)$/;

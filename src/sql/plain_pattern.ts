/** A pattern that asks for no more than a literal text, and the operator that does the same. */
export interface PlainPattern {
  /** `%text%`, `text%` or `%text`. */
  readonly operator: "contains" | "startsWith" | "endsWith";
  /** The text, its escapes taken out. */
  readonly text: string;
}

/**
 * The pattern as a literal text; null when it holds other wildcards, or none at all. A text is
 * searched for many times faster than a pattern is tried at every place.
 */
export function plainPattern(pattern: string): PlainPattern | null {
  const [, before, literal = "", after] = plain.exec(pattern) ?? [];
  if (!before && !after) return null;
  const text = literal.replace(/\\([^])/g, "$1");
  return { operator: !before ? "startsWith" : after ? "contains" : "endsWith", text };
}

/** Whether no wildcard stands in the pattern but a `%` at either end. */
export function isPlain(pattern: string): boolean {
  return plain.test(pattern);
}

const plain = /^(%?)((?:[^%_\\]|\\[^])*)(%?)$/;

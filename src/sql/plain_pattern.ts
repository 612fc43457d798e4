export interface PlainPattern {
  /** The operator that is equivalent to `%text%`, `text%` or `%text`. */
  readonly operator: "contains" | "startsWith" | "endsWith";
  readonly text: string;
}

/** Converts a LIKE pattern that only searches for a string to a faster operator; else null. */
export function parsePlainPattern(pattern: string): PlainPattern | null {
  const [, before, literal = "", after] = plain.exec(pattern) ?? [];
  if (!before && !after) return null;
  const text = literal.replace(/\\([^])/g, "$1");
  return { operator: !before ? "startsWith" : after ? "contains" : "endsWith", text };
}

export function isPlainPattern(pattern: string): boolean {
  return plain.test(pattern);
}

const plain = /^(%?)((?:[^%_\\]|\\[^])*)(%?)$/;

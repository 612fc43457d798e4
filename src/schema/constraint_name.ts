import { createHash } from "node:crypto";

/**
 * Returns the name of an index or constraint, identical at each start: the table, its columns, and
 * the type. A name that is too long for Postgres ends with a hash of the whole.
 */
export function constraintName(parts: readonly string[], what: string): string {
  const whole = [...parts, what].join("_");
  if (nameBytes(whole) <= maxNameBytes) return whole;
  const hash = hashOf([...parts, what]);
  let start = parts.join("_");
  while (nameBytes(`${start}_${hash}_${what}`) > maxNameBytes) {
    start = [...start].slice(0, -1).join("");
  }
  return `${start}_${hash}_${what}`;
}

/** Returns a short hash of strings. */
export function hashOf(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 8);
}

/**
 * The limit of names in bytes. Postgres truncates longer names, and two names could become equal.
 */
export const maxNameBytes = 63;

/** Returns the length of a name in bytes. */
export function nameBytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

import { createHash } from "node:crypto";

/**
 * The name of an index or a constraint, the same at each start: the table, its columns, and what it
 * is. A name that would be too long for Postgres ends with a hash of the whole.
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

/** A short hash of strings. */
export function hashOf(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 8);
}

/** Postgres cuts longer names off, so that two could become one. */
export const maxNameBytes = 63;

/** How long the name of a table, a column or a constraint is. */
export function nameBytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

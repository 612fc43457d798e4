import { createHash } from "node:crypto";

/** Returns an index's or constraint's name. A hash shortens a name too long for Postgres. */
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

export function hashOf(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 8);
}

/** Maximum bytes of a name. Postgres truncates longer names, which could then be equal. */
export const maxNameBytes = 63;

export function nameBytes(text: string): number {
  return new TextEncoder().encode(text).length;
}

import type { MaintainedGroup } from "./maintained_group.ts";

/** Estimates the bytes of a maintained group. A character of a string counts two bytes. */
export function groupSize(id: string, { key, totals, extremes }: MaintainedGroup): number {
  const values = sizeOfAll(key) + sizeOfAll(extremes);
  return bytesPerGroup + 2 * id.length + bytesPerTotal * totals.length + values;
}

function sizeOfAll(values: readonly unknown[]): number {
  let bytes = 0;
  for (const value of values) {
    bytes += bytesPerValue + (typeof value === "string" ? 2 * value.length : 0);
  }
  return bytes;
}

// These values were measured with 10,000 groups of short keys.
const bytesPerGroup = 700;
const bytesPerTotal = 250;
const bytesPerValue = 50;

import type { MaintainedGroup } from "./maintained_group.ts";

/**
 * About how many bytes a maintained group takes: its id, keys, sums and extremes, and the answer
 * that is kept of it. Strings count two bytes a letter.
 */
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

// As measured with 10,000 groups of short keys.
const bytesPerGroup = 700;
const bytesPerTotal = 250;
const bytesPerValue = 50;

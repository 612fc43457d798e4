export const loadWidths = [
  { widthMs: 60_000, keptMs: 25 * 3_600_000 },
  { widthMs: 3_600_000, keptMs: 31 * 24 * 3_600_000 },
] as const;

/** Returns the bucket of a duration: four for each doubling, from 1/8 ms to about 2 minutes. */
export function durationBucket(durationMs: number): number {
  return Math.ceil(4 * Math.log2(Math.min(Math.max(durationMs, 1 / 8), 131_072)));
}

/** Returns the duration in ms, within 10 %, that the fraction `part` of requests did not exceed. */
export function quantile(buckets: ReadonlyMap<number, number>, part: number): number | null {
  const total = buckets.values().reduce((sum, count) => sum + count, 0);
  let seen = 0;
  for (const [bucket, count] of [...buckets].toSorted(([a], [b]) => a - b)) {
    seen += count;
    if (seen >= total * part) return Number((2 ** ((bucket - 0.5) / 4)).toPrecision(3));
  }
  return null;
}

/** Returns the median of some figures in any order, or 0 without figures. */
export function median(figures: readonly number[]): number {
  return quantile(figures, 0.5);
}

/** Returns the quantile of some figures in any order, or 0 without figures. */
export function quantile(figures: readonly number[], share: number): number {
  const sorted = figures.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

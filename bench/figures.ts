/** The middle one of some figures, in any order; 0 of none. */
export function median(figures: readonly number[]): number {
  return quantile(figures, 0.5);
}

/** The figure below which a share of them lies, in any order; 0 of none. */
export function quantile(figures: readonly number[], share: number): number {
  const sorted = figures.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** The labels of lexemes in a `tsvector`, by which their weight is found. */
export type FieldLabel = "A" | "B" | "C" | "D";

const labels: readonly FieldLabel[] = ["A", "B", "C", "D"];

/**
 * The label of each field, the greatest weight first. With more than four different weights those
 * next to each other share a label.
 */
export function labelFields(weights: readonly number[]): readonly FieldLabel[] {
  const groups = groupsOf(weights);
  return weights.map((weight) => {
    const group = groups.findIndex((some) => some.includes(weight));
    return labels[group] ?? "D";
  });
}

/** The weights of the labels from D to A for `ts_rank`, of which the greatest is 1. */
export function rankWeights(weights: readonly number[]): string {
  const greatest = Math.max(...weights);
  const ofLabels = labels.map((_label, index) => {
    const [weight = 0] = groupsOf(weights)[index] ?? [];
    return weight / greatest;
  });
  return `'{${ofLabels.reverse().join(",")}}'::float4[]`;
}

function groupsOf(weights: readonly number[]): readonly (readonly number[])[] {
  const different = [...new Set(weights)].sort((left, right) => right - left);
  const size = Math.ceil(different.length / labels.length);
  return labels.map((_label, index) => different.slice(index * size, (index + 1) * size));
}

/** The label of a lexeme in a `tsvector`. Each label has a weight in the ranking. */
export type FieldLabel = "A" | "B" | "C" | "D";

const labels: readonly FieldLabel[] = ["A", "B", "C", "D"];

/** Returns a label for each field: `A` has the greatest weight. At most four labels exist. */
export function labelFields(weights: readonly number[]): readonly FieldLabel[] {
  const groups = groupsOf(weights);
  return weights.map((weight) => {
    const group = groups.findIndex((some) => some.includes(weight));
    return labels[group] ?? "D";
  });
}

/** Returns the weights of the labels D, C, B and A for `ts_rank`. The greatest becomes 1. */
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

/** A run of steps that fails, made short: steps are left out as long as it fails without them. */
export async function shrink(
  steps: readonly number[],
  fails: (steps: readonly number[]) => Promise<boolean>,
): Promise<readonly number[]> {
  let kept = steps;
  for (let size = Math.ceil(kept.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let start = 0; start < kept.length;) {
      const fewer = kept.toSpliced(start, size);
      if (await fails(fewer)) kept = fewer;
      else start += size;
    }
  }
  return kept;
}

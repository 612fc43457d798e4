import { type Fragment, identifier } from "./fragment.ts";

/** Returns the name of a key column in search matches, by which matches are joined with rows. */
export function matchKeyColumn(index: number): Fragment {
  return identifier(`_k${index}`);
}

export const matchRankColumn: Fragment = identifier("_rank");

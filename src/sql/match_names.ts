import { type Fragment, identifier } from "./fragment.ts";

/**
 * Returns the name of the key column with this index in a SELECT of search matches. The plan of a
 * search joins this SELECT with the table.
 */
export function matchKeyColumn(index: number): Fragment {
  return identifier(`_k${index}`);
}

export const matchRankColumn: Fragment = identifier("_rank");

import { type Fragment, identifier } from "./fragment.ts";

/**
 * Returns the name of the key column with this index in a SELECT of matching documents. A search
 * plan joins this SELECT with the rows of its table.
 */
export function matchKeyColumn(index: number): Fragment {
  return identifier(`_k${index}`);
}

/** The name of the rank of a matching document. The lowest rank is the best. */
export const matchRankColumn: Fragment = identifier("_rank");

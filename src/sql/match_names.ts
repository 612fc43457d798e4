import { type Fragment, identifier } from "./fragment.ts";

/**
 * The names of the columns of a SELECT of matching documents, which a search plan joins with the
 * rows of its table: key columns from 0, and the rank, of which the least is the best.
 */
export function matchKey(index: number): Fragment {
  return identifier(`_k${index}`);
}

/** The name of the rank of a matching document. */
export const matchRank: Fragment = identifier("_rank");

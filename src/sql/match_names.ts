import { type Fragment, identifier } from "./fragment.ts";

export function matchKeyColumn(index: number): Fragment {
  return identifier(`_k${index}`);
}

export const matchRankColumn: Fragment = identifier("_rank");

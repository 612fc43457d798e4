import type { EmbeddedItems } from "../../../guard/budget/debit.ts";
import type { RelatedWrite } from "../../model/operation.ts";

/**
 * Returns the numbers of rows of other resources that a request writes, each with the protection
 * (limits and challenges) of the resource. Rows of unprotected resources cost nothing.
 */
export function protectedItems(writes: readonly RelatedWrite[]): readonly EmbeddedItems[] {
  return writes.flatMap(({ resource: { protections }, access, count }) => {
    const protection = protections.get(access);
    return protection === undefined ? [] : [{ protection, count }];
  });
}

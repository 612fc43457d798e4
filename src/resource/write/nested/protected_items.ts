import type { EmbeddedItems } from "../../../guard/budget/debit.ts";
import type { RelatedWrite } from "../../model/operation.ts";

/**
 * Returns the rows of other resources that a request writes, with the guard's protection of these
 * resources. Rows of resources without protection cost nothing.
 */
export function protectedItems(writes: readonly RelatedWrite[]): readonly EmbeddedItems[] {
  return writes.flatMap(({ resource: { protections }, access, count }) => {
    const protection = protections.get(access);
    return protection === undefined ? [] : [{ protection, count }];
  });
}

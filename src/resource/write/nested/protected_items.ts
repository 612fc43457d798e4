import type { EmbeddedItems } from "../../../guard/budget/debit.ts";
import type { RelatedWrite } from "../../model/operation.ts";

/**
 * The rows that a request writes beside its own, with the protection of their own resource; those
 * without one cost nothing.
 */
export function protectedItems(writes: readonly RelatedWrite[]): readonly EmbeddedItems[] {
  return writes.flatMap(({ resource: { protections }, access, count }) => {
    const protection = protections.get(access);
    return protection === undefined ? [] : [{ protection, count }];
  });
}

import type { EmbeddedItems } from "../../../guard/budget/debit.ts";
import type { RelatedWrite } from "../../model/operation.ts";

/** Returns how many rows of other resources are written, with the protection of each resource. */
export function protectedItems(writes: readonly RelatedWrite[]): readonly EmbeddedItems[] {
  return writes.flatMap(({ resource: { protections }, access, count }) => {
    const protection = protections.get(access);
    return protection === undefined ? [] : [{ protection, count }];
  });
}

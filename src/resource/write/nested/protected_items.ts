import type { EmbeddedItems } from "../../../guard/budget/debit.ts";
import type { RelatedWrite } from "../../model/operation.ts";

export function protectedItems(writes: readonly RelatedWrite[]): readonly EmbeddedItems[] {
  return writes.flatMap(({ resource: { protections }, access, count }) => {
    const protection = protections.get(access);
    return protection === undefined ? [] : [{ protection, count }];
  });
}

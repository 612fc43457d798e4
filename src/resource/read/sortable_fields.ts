import type { OrderFields } from "../../plan/order.ts";
import type { FieldPolicy } from "../define/resource.ts";

/** The sortable fields of a resource: one that is not readable is never suggested. */
export function sortableFields({ sortable, readable }: FieldPolicy): OrderFields {
  return {
    maySort: (column) => sortable.has(column),
    mayName: (column) => readable.includes(column),
  };
}

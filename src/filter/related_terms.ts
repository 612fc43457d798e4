import type { TableInfo } from "../schema/table_info.ts";
import { type Filter, type Related, termsOnSameRow } from "./filter.ts";

/** Returns the terms of a filter that follow a relation, without the terms inside of these. */
export function relatedTerms(filter: Filter): readonly Related[] {
  return filter.kind === "related" ? [filter] : termsOnSameRow(filter).flatMap(relatedTerms);
}

export function reachesTable(filter: Filter, table: TableInfo): boolean {
  return relatedTerms(filter).some(({ relation, filter }) =>
    relation.steps.some((step) => step.table === table) || reachesTable(filter, table)
  );
}

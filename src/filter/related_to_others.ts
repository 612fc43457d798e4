import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import { allRows, and, type Filter, not, or, termsOnSameRow } from "./filter.ts";

export function relatedToOthers(filter: Filter, table: TableInfo, unreached: Filter): Filter {
  const within = (term: Filter) => relatedToOthers(term, table, unreached);
  switch (filter.kind) {
    case "and":
      return and(...filter.terms.map(within));
    case "or":
      return or(...filter.terms.map(within));
    case "not":
      return not(within(filter.term));
    case "related": {
      const { relation, links } = filter;
      const reached = (there: TableInfo) => there === table ? not(unreached) : allRows;
      const [{ table: linkTable }, next] = relation.steps;
      return {
        ...filter,
        filter: and(within(filter.filter), reached(relation.target)),
        links: next === undefined ? links : and(within(links), reached(linkTable)),
      };
    }
    default:
      return filter;
  }
}

export function usesColumn(filter: Filter, column: ColumnInfo): boolean {
  if (filter.kind === "compare") return filter.column === column;
  if (filter.kind !== "related") {
    return termsOnSameRow(filter).some((one) => usesColumn(one, column));
  }
  const { relation: { steps }, links } = filter;
  return steps.some(({ own, other }) => own.includes(column) || other.includes(column)) ||
    usesColumn(filter.filter, column) || usesColumn(links, column);
}

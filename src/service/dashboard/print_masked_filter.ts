import type { Filter } from "../../filter/filter.ts";
import { printFilter } from "../../filter/syntax/print_filter.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";

/** Returns a filter as a string of at most 500 characters, with masked values of hidden columns. */
export function printMaskedFilter(
  filter: Filter,
  table: TableInfo,
  isShown: (column: ColumnInfo, table: TableInfo) => boolean,
): string {
  const text = printFilter(masked(filter, table));
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;

  function masked(filter: Filter, table: TableInfo): Filter {
    switch (filter.kind) {
      case "all":
      case "none":
        return filter;
      case "and":
      case "or":
        return { kind: filter.kind, terms: filter.terms.map((term) => masked(term, table)) };
      case "not":
        return { kind: "not", term: masked(filter.term, table) };
      case "related":
        return { ...filter, filter: masked(filter.filter, filter.relation.target) };
      case "compare":
        return isShown(filter.column, table)
          ? filter
          : { ...filter, values: filter.values.map(() => "•••") };
    }
  }
}

const maxLength = 500;

import type { Filter } from "../filter/filter.ts";
import { unreachable } from "../problem/unreachable.ts";
import type { Dialect } from "../sql/dialect.ts";
import { type Fragment, join, rawSql, sql } from "../sql/fragment.ts";

/** A filter → a condition that can stand anywhere: groups come in parentheses. */
export function compileFilter(filter: Filter, dialect: Dialect): Fragment {
  switch (filter.kind) {
    case "all":
      return rawSql("1=1");
    case "none":
      return rawSql("1=0");
    case "and":
    case "or": {
      const terms = filter.terms.map((term) => compileFilter(term, dialect));
      return sql`(${join(terms, filter.kind === "and" ? " AND " : " OR ")})`;
    }
    case "compare":
      return filter.operator.toSql(filter.column, filter.values, dialect);
    default:
      return unreachable(filter);
  }
}

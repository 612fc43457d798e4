import type { Filter, Related } from "../filter/filter.ts";
import { unreachable } from "../problem/unreachable.ts";
import type { Dialect } from "../sql/dialect.ts";
import { type Fragment, identifier, join, rawSql, sql, tableName } from "../sql/fragment.ts";

/**
 * Compiles a filter to the condition after WHERE, which may stand in any place: AND and OR are in
 * parentheses.
 */
export function compileFilter(filter: Filter, dialect: Dialect): Fragment {
  return compileAt(filter, dialect, 0);
}

/** `depth` is the number of relations so far: inside them the row is called `_r1`, `_r2`, … */
function compileAt(filter: Filter, dialect: Dialect, depth: number): Fragment {
  switch (filter.kind) {
    case "all":
      return rawSql("1=1");
    case "none":
      return rawSql("1=0");
    case "and":
    case "or": {
      const terms = filter.terms.map((term) => compileAt(term, dialect, depth));
      return sql`(${join(terms, filter.kind === "and" ? " AND " : " OR ")})`;
    }
    case "related":
      return compileRelated(filter, dialect, depth);
    case "compare":
      return filter.operator.toSql(filter.column, filter.values, dialect);
    default:
      return unreachable(filter);
  }
}

/**
 * Nested EXISTS, one for each step. Names without a table mean the innermost row, which is why the
 * comparisons of the filter need no prefix, whatever the names of the columns are.
 */
function compileRelated(
  { relation, filter, links }: Related,
  dialect: Dialect,
  depth: number,
): Fragment {
  const rowName = (level: number) =>
    level === 0 ? identifier(relation.owner.name) : rawSql(`"_r${level}"`);
  const last = relation.steps.length - 1;
  const innermost = compileAt(filter, dialect, depth + relation.steps.length);
  return relation.steps.reduceRight((inner, { table, own, other }, step) => {
    const [before, here] = [rowName(depth + step), rowName(depth + step + 1)];
    const on = sql`${dialect.operand(other, here)} = ${dialect.operand(own, before)}`;
    const isLink = step < last && links.kind !== "all";
    const link = isLink ? sql` AND ${compileAt(links, dialect, depth + step + 1)}` : rawSql("");
    return sql`EXISTS (SELECT 1 FROM ${
      tableName(table)
    } AS ${here} WHERE ${on}${link} AND ${inner})`;
  }, innermost);
}

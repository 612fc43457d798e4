import type { Filter, Related } from "../filter/filter.ts";
import { pathComparisonSql } from "../filter/operators/path_comparison.ts";
import { unreachable } from "../problem/unreachable.ts";
import type { Dialect } from "../sql/dialect.ts";
import {
  columnOf,
  type Fragment,
  identifier,
  join,
  rawSql,
  sql,
  tableName,
} from "../sql/fragment.ts";
import { withScanCheck } from "./scan_check.ts";

/**
 * Compiles a filter to the condition after WHERE, which may stand in any place: AND and OR are in
 * parentheses.
 */
export function compileFilter(filter: Filter, dialect: Dialect): Fragment {
  return compileAt(filter, { dialect, isForFewRows: false }, 0);
}

/**
 * Compiles a filter like {@link compileFilter}, for a statement that evaluates it on `count` rows:
 * few of them do not pay for reading a whole related table once.
 */
export function compileFilterOnRows(filter: Filter, count: number, dialect: Dialect): Fragment {
  return compileAt(filter, { dialect, isForFewRows: count <= fewRows }, 0);
}

const fewRows = 20;

interface Context {
  readonly dialect: Dialect;
  readonly isForFewRows: boolean;
}

/** `depth` is the number of relations so far: inside them the row is called `_r1`, `_r2`, … */
function compileAt(filter: Filter, context: Context, depth: number): Fragment {
  switch (filter.kind) {
    case "all":
      return rawSql("1=1");
    case "none":
      return rawSql("1=0");
    case "and":
    case "or": {
      const terms = filter.terms.map((term) => compileAt(term, context, depth));
      return sql`(${join(terms, filter.kind === "and" ? " AND " : " OR ")})`;
    }
    case "related":
      return compileRelated(filter, context, depth);
    case "compare":
      return filter.path === undefined
        ? filter.operator.toSql(filter.column, filter.values, context.dialect)
        : pathComparisonSql(filter, filter.path, context.dialect);
    default:
      return unreachable(filter);
  }
}

/**
 * A subquery for each step. Names without a table mean the innermost row, which is why the
 * comparisons of the filter need no prefix, whatever the names of the columns are.
 *
 * EXISTS finds the rows of a step by the row before. Where that would find the same rows again and
 * again, as in `author.posts.title` for each post of one author, the keys of those that pass are a
 * list that does not depend on the row, which the database makes once.
 */
function compileRelated(
  { relation, filter, links, once }: Related,
  context: Context,
  depth: number,
): Fragment {
  const { dialect, isForFewRows } = context;
  const isOnce = once === true && !isForFewRows && !dialect.plansSemiJoins;
  const rowName = (level: number) =>
    level === 0 ? identifier(relation.owner.name) : rawSql(`"_r${level}"`);
  const last = relation.steps.length - 1;
  const within = relation.toMany ? { dialect, isForFewRows: false } : context;
  const innermost = compileAt(filter, within, depth + relation.steps.length);
  return relation.steps.reduceRight((inner, { table, pairs }, step) => {
    const [before, here] = [rowName(depth + step), rowName(depth + step + 1)];
    const keys = pairs.map(({ own }) => dialect.operand(own, before));
    const found = pairs.map(({ other }) => dialect.operand(other, here));
    const isSame = join(
      found.map((value, index) => sql`${value} = ${keys[index] ?? value}`),
      " AND ",
    );
    const isLink = step < last && links.kind !== "all";
    const condition = isLink
      ? sql`${compileAt(links, within, depth + step + 1)} AND ${inner}`
      : inner;
    const rows = sql`${tableName(table)} AS ${here} WHERE`;
    // SQLite may turn the subquery into a join: by the column the check stays in this loop.
    const column = columnOf(pairs[0].other, here);
    return isOnce && step === 0
      ? sql`${rowOf(keys)} IN (SELECT ${join(found, ", ")} FROM ${rows} ${
        withScanCheck(condition, dialect, column)
      })`
      : sql`EXISTS (SELECT 1 FROM ${rows} ${
        withScanCheck(sql`${isSame} AND ${condition}`, dialect, column)
      })`;
  }, innermost);
}

function rowOf(values: readonly Fragment[]): Fragment {
  const row = join(values, ", ");
  return values.length === 1 ? row : sql`(${row})`;
}

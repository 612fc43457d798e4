import { equalitySql } from "../filter/operators/operator_registry.ts";
import type { SearchPlan } from "../plan/plan.ts";
import type { Dialect } from "../sql/dialect.ts";
import { type Fragment, identifier, join, rawSql, sql, tableName } from "../sql/fragment.ts";
import { matchKeyColumn, matchRankColumn } from "../sql/match_names.ts";
import { compileOrder } from "./read_rows.ts";
import { compileFilter, prependScanCheck } from "./where.ts";

const total = identifier("_total");

/**
 * Compiles the SELECT for one page of a search. The inner statement finds the keys of the page and
 * counts all matches in one pass. The outer statement reads the rows of the page. The CROSS JOIN
 * begins with the matches, whose number SQLite cannot estimate, and keeps this order.
 */
export function compileSearchRows(
  { table, columns, where, matches, limit, offset }: SearchPlan,
  dialect: Dialect,
  check: Fragment | null,
): Fragment {
  const { primaryKey } = table;
  const isMatch = join(
    primaryKey.map((column, index) =>
      equalitySql(column, dialect, sql`= ${matchKeyColumn(index)}`)
    ),
    " AND ",
  );
  const keys = join(primaryKey.map((_column, index) => matchKeyColumn(index)), ", ");
  const order = sql`${matchRankColumn}, ${
    compileOrder(primaryKey.map((column) => ({ column, descending: false })), dialect)
  }`;
  const passing = prependScanCheck(check, compileFilter(where, dialect));
  const page =
    sql`SELECT ${keys}, ${matchRankColumn}, count(*) OVER () AS ${total} FROM (${matches}) AS "_match" CROSS JOIN ${
      tableName(table)
    } WHERE ${isMatch} AND ${passing} ORDER BY ${order} LIMIT ${rawSql(String(limit))} OFFSET ${
      rawSql(String(offset))
    }`;
  const selected = join([...columns.map((column) => dialect.selected(column)), total], ", ");
  return sql`SELECT ${selected} FROM (${page}) AS "_page" CROSS JOIN ${
    tableName(table)
  } WHERE ${isMatch} ORDER BY ${order}`;
}

import { equalOperator, inOperator } from "../filter/operators/value_operators.ts";
import type { Filter } from "../filter/filter.ts";
import type { ReadPlan } from "../plan/plan.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { Dialect } from "../sql/dialect.ts";
import { type Fragment, identifier, sql } from "../sql/fragment.ts";

/**
 * A condition with the dialect's check before it, which can end a statement that looks at many
 * rows: {@link Dialect.scanCheck}.
 */
export function withScanCheck(condition: Fragment, dialect: Dialect, column?: Fragment): Fragment {
  const { scanCheck } = dialect;
  return scanCheck === null ? condition : sql`${scanCheck(column)} AND ${condition}`;
}

/**
 * The dialect's check for rows of a table that are named by its columns alone; null if the engine
 * ends statements by itself. By an integer key it costs much less.
 */
export function tableCheck(table: TableInfo, { scanCheck }: Dialect): Fragment | null {
  if (scanCheck === null) return null;
  const [key] = table.primaryKey;
  const isInteger = key?.kind === "integer" && table.primaryKey.length === 1;
  return scanCheck(undefined, isInteger ? identifier(key.dbName) : undefined);
}

/** A condition with a check before it, where there is one. */
export function checkedFirst(check: Fragment | null, condition: Fragment): Fragment {
  return check === null ? condition : sql`${check} AND ${condition}`;
}

/** Returns true if a plan may look at more rows than it gives: not for keys, nor for a page by key. */
export function mayScan({ where, table, order, limit }: ReadPlan): boolean {
  if (where.kind !== "all") return !isByKey(where, table);
  const { primaryKey } = table;
  return limit === null || order.length !== primaryKey.length ||
    order.some(({ column, descending }, index) =>
      column !== primaryKey[index] || descending !== order[0]?.descending
    );
}

/** Returns true if the primary key leads to the rows that a filter passes. */
export function isByKey(filter: Filter, table: TableInfo): boolean {
  const { primaryKey } = table;
  switch (filter.kind) {
    case "compare": {
      const { column, operator, path } = filter;
      return path === undefined && primaryKey.length === 1 && column === primaryKey[0] &&
        (operator === equalOperator || operator === inOperator);
    }
    case "and":
      return filter.terms.some((term) => isByKey(term, table)) ||
        primaryKey.length > 1 &&
          primaryKey.every((column) =>
            filter.terms.some((term) =>
              term.kind === "compare" && term.column === column && term.path === undefined &&
              term.operator === equalOperator
            )
          );
    case "or":
      return filter.terms.every((term) => isByKey(term, table));
    case "none":
      return true;
    default:
      return false;
  }
}

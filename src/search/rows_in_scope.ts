import type { Connection } from "../db/driver.ts";
import type { Comparison, Filter } from "../filter/filter.ts";
import { equalOperator, inOperator } from "../filter/operators/operator_registry.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import { type Fragment, join, rawSql, sql, tableName, toStatement } from "../sql/fragment.ts";
import { matchKeyColumn } from "../sql/match_names.ts";
import type { SearchIndex } from "./search_index.ts";

/** Comparisons with indexed columns. Each row that the user may read meets at least one of them. */
export type IndexedComparisons = readonly Comparison[];

/** Returns lists of indexed comparisons. Each row in `scope` meets a comparison of each list. */
export function indexedAlternatives(
  scope: Filter,
  isIndexed: (column: ColumnInfo) => boolean,
): readonly IndexedComparisons[] {
  switch (scope.kind) {
    case "compare": {
      const { column, operator, path } = scope;
      const isEquality = operator === equalOperator || operator === inOperator;
      return path === undefined && isEquality && isIndexed(column) ? [[scope]] : [];
    }
    case "and":
      return scope.terms.flatMap((term) => indexedAlternatives(term, isIndexed));
    case "or": {
      const parts = scope.terms.map((term) => indexedAlternatives(term, isIndexed)[0]);
      const led = parts.filter((part) => part !== undefined);
      return led.length === parts.length ? [led.flat()] : [];
    }
    default:
      return [];
  }
}

/** Finds the first list that at most {@link fewRows} rows meet. Returns a SELECT of their keys. */
export async function keysInSmallScope(
  choices: readonly IndexedComparisons[],
  { table, reader: { dialect } }: SearchIndex,
  connection: Connection,
): Promise<Fragment | null> {
  const selects = (comparisons: IndexedComparisons, selected: Fragment) =>
    comparisons.map(({ column, operator, values }) => {
      const condition = dialect.selective(operator.toSql(column, values, dialect));
      return sql`SELECT ${selected} FROM ${tableName(table)} WHERE ${condition}`;
    });
  const keys = table.primaryKey.map((column, index) =>
    sql`${dialect.operand(column)} AS ${matchKeyColumn(index)}`
  );
  for (const comparisons of choices) {
    const rows = join(selects(comparisons, rawSql("1")), " UNION ALL ");
    const counted = sql`SELECT count(*) FROM (SELECT * FROM (${rows}) AS "_rows" LIMIT ${
      rawSql(String(fewRows + 1))
    }) AS "_few"`;
    const { rows: [found] } = await connection.query(toStatement(counted, dialect.placeholder));
    if (Number(found?.[0]) > fewRows) continue;
    return join(selects(comparisons, join(keys, ", ")), " UNION ");
  }
  return null;
}

/** The number of rows that a search can examine one by one in a few milliseconds. */
const fewRows = 2_000;

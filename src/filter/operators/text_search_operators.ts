import { sql } from "../../sql/fragment.ts";
import type { Operator } from "./operator.ts";

/** The filter operators for text search columns (the Postgres type `tsvector`). */
export const textSearchOperators: readonly Operator[] = [
  textSearchOperator("=match=", "web"),
  textSearchOperator("=tsquery=", "tsquery"),
];

function textSearchOperator(symbol: string, syntax: "web" | "tsquery"): Operator {
  return {
    symbols: [symbol],
    takes: "query",
    nullMeans: null,
    testsNull: false,
    accepts: ({ databaseType }) => databaseType?.configuration !== undefined,
    toSql: (column, values, dialect) =>
      sql`${dialect.operand(column)} @@ ${dialect.lists.query(column, values, syntax)}`,
    matches() {
      throw new Error(`Cannot decide ${symbol} in memory: the database searches its words`);
    },
  };
}

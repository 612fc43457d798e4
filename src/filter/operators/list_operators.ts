import { elementOf, isDocument } from "../../schema/structured/kind_of_column.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Quantifier } from "../../sql/list_dialect.ts";
import type { Operator } from "./operator.ts";

export const hasOperator: Operator = listOperator("=has=", "item", "all");
export const hasAnyOperator: Operator = listOperator("=hasany=", "items", "any");
/** The operator `=hasall=`: the list contains every one of the values. */
export const hasAllOperator: Operator = listOperator("=hasall=", "items", "all");

/** The filter operators for list columns, and for JSON columns whose documents can be lists. */
export const listOperators: readonly Operator[] = [hasOperator, hasAnyOperator, hasAllOperator];

function listOperator(symbol: string, takes: "item" | "items", quantifier: Quantifier): Operator {
  return {
    symbols: [symbol],
    takes,
    nullMeans: null,
    testsNull: false,
    accepts: mayHoldItems,
    toSql: (column, values, dialect) => dialect.lists.holds(column, values, quantifier),
    matches() {
      throw new Error(`Cannot decide ${symbol} in memory: the database looks into lists`);
    },
  };
}

function mayHoldItems(column: ColumnInfo): boolean {
  return elementOf(column) === null ? isDocument(column) : column.databaseType?.ordered === true;
}

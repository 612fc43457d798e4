import type { ColumnInfo } from "../../schema/table_info.ts";
import { sql } from "../../sql/fragment.ts";
import { type Comparison, comparison } from "../filter.ts";
import type { Operator } from "./operator.ts";

/** The operator `=isnull=`, a test for NULL. `==null` and `!=null` are parsed as this operator. */
export const isNullOperator: Operator = {
  symbols: ["=isnull="],
  takes: "flag",
  nullMeans: null,
  testsNull: true,
  accepts: () => true,
  toSql(column, [wanted], dialect) {
    const operand = dialect.operand(column);
    return wanted === true ? sql`${operand} IS NULL` : sql`${operand} IS NOT NULL`;
  },
  matches: (value, [wanted]) => (value === null) === wanted,
};

/** The operator `=isempty=`: NULL or `''`. It is `=isnull=` for all kinds except `text`. */
export const isEmptyOperator: Operator = {
  ...isNullOperator,
  symbols: ["=isempty="],
  toSql(column, values, dialect) {
    if (column.kind !== "text") return isNullOperator.toSql(column, values, dialect);
    const operand = dialect.textOperand(column);
    return values[0] === true
      ? sql`(${operand} IS NULL OR ${operand} = '')`
      : sql`${operand} <> ''`;
  },
  matches(value, [wanted], column) {
    // The JSON string `""` and empty bytes are also `""` in memory, but only an empty text matches.
    const isEmpty = value === null || (value === "" && column.kind === "text");
    return isEmpty === wanted;
  },
};

/** Returns a comparison that tests for NULL: IS NULL or IS NOT NULL. */
export function nullTest(column: ColumnInfo, isNull: boolean): Comparison {
  return comparison(isNullOperator, column, [isNull]);
}

import { plainDecimal } from "../../../schema/kinds/decimal_kind.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { Dialect } from "../../../sql/dialect.ts";
import type { MetricDialect } from "../../../sql/metric_dialect.ts";
import { type Fragment, identifier, rawSql, sql } from "../../../sql/fragment.ts";
import { introspectedTypeName, singleTypes } from "./introspected_type.ts";

/** Returns the metrics of Postgres, which adds integers and decimals as exact `numeric`s. */
export function postgresMetrics(
  { operand, ordered }: Pick<Dialect, "operand" | "ordered">,
): MetricDialect {
  return {
    extreme(name, column) {
      // Postgres has no min() of booleans, and none of uuids before 18. Their text sorts alike.
      if (column.kind === "boolean") {
        return sql`${rawSql(name === "min" ? "bool_and" : "bool_or")}(${operand(column)})`;
      }
      if (column.kind === "uuid") {
        return sql`${rawSql(name)}(${operand(column)}::text COLLATE "C")::uuid`;
      }
      // In a collation where different strings are equal, the minimum would be ambiguous.
      const value = column.looseCollation ? operand(column) : ordered(column);
      return sql`${rawSql(name)}(${value})`;
    },
    sum: (column) => sql`sum(${summand(column)})`,
    average(column, digits) {
      const sum = sql`sum(${summand(column)})`;
      const count = sql`count(${identifier(column.dbName)})`;
      if (column.kind === "real") return sql`avg(${summand(column)})`;
      if (column.kind !== "decimal") return sql`${sum}::float8 / ${count}`;
      // A quotient has few more digits than its operands. The sum has so many digits that rounding
      // twice equals rounding once.
      const [spare, wanted] = [rawSql(String(digits + 12)), rawSql(String(digits))];
      return sql`round(round(${sum}, ${spare}) / ${count}, ${wanted})`;
    },
    quick: null,
    boundExact: (plain) => sql`${plain}::numeric`,
    decodeExact: (value) => plainDecimal(String(value)),
  };
}

/** Returns a float4 as its row shows it, 0.1 and not 0.10000000149011612, to add a double. */
function summand(column: ColumnInfo): Fragment {
  const name = identifier(column.dbName);
  return singleTypes.has(introspectedTypeName(column)) ? sql`${name}::text::float8` : name;
}

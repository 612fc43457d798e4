import { kindProperties } from "../../../schema/kinds/kind_properties.ts";
import { plainDecimal } from "../../../schema/kinds/number_kinds.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { Dialect } from "../../../sql/dialect.ts";
import type { MetricDialect } from "../../../sql/metric_dialect.ts";
import { type Fragment, identifier, rawSql, sql } from "../../../sql/fragment.ts";
import { postgresKinds } from "./postgres_kinds.ts";
import { introspectedTypeName, singlePrecisionTypes } from "./introspected_type.ts";

/** Returns the metrics of Postgres, which adds integers and decimals exactly, as `numeric`. */
export function postgresMetrics(
  { operand, ordered }: Pick<Dialect, "operand" | "ordered">,
): MetricDialect {
  return {
    extreme(name, column) {
      const { extremes, cast } = postgresKinds[column.kind];
      if (extremes === "of booleans") {
        return sql`${rawSql(name === "min" ? "bool_and" : "bool_or")}(${operand(column)})`;
      }
      if (extremes === "of text") {
        return sql`${rawSql(name)}(${operand(column)}::text COLLATE "C")${cast}`;
      }
      // In a collation where different strings are equal, the minimum could be any of them.
      const value = column.looseCollation ? operand(column) : ordered(column);
      return sql`${rawSql(name)}(${value})`;
    },
    sum: (column) => sql`sum(${summand(column)})`,
    average(column, digits) {
      const sum = sql`sum(${summand(column)})`;
      const count = sql`count(${identifier(column.dbName)})`;
      const { arithmetic } = kindProperties[column.kind];
      if (arithmetic === "double") return sql`avg(${summand(column)})`;
      if (arithmetic !== "decimal") return sql`${sum}::float8 / ${count}`;
      // Postgres computes quotients with only a few more digits than the operands. With 12 more
      // digits in the sum, rounding the quotient twice is as exact as rounding it once.
      const [spare, wanted] = [rawSql(String(digits + 12)), rawSql(String(digits))];
      return sql`round(round(${sum}, ${spare}) / ${count}, ${wanted})`;
    },
    quick: null,
    boundExact: (plain) => sql`${plain}::numeric`,
    decodeExact: (value) => plainDecimal(String(value)),
  };
}

/** Returns a float4 as the double that clients receive: 0.1, and not 0.10000000149011612. */
function summand(column: ColumnInfo): Fragment {
  const name = identifier(column.dbName);
  return singlePrecisionTypes.has(introspectedTypeName(column)) ? sql`${name}::text::float8` : name;
}

import { isWhole, kindProperties } from "../../../schema/kinds/kind_properties.ts";
import { plainDecimal } from "../../../schema/kinds/number_kinds.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { MetricDialect, QuickMetrics } from "../../../sql/metric_dialect.ts";
import {
  addExactDecimals,
  divideExactDecimal,
  type ExactDecimal,
  parseExactDecimal,
  printExactDecimal,
} from "../../../sql/exact_decimal.ts";
import { type Fragment, identifier, rawSql, sql } from "../../../sql/fragment.ts";
import { fromSortableDecimal, toSortableDecimal } from "../../../sql/sortable_decimal.ts";
import { affinityOf } from "./column_type.ts";

/** The faster metrics. If a sum is a double or exceeds 64 bits, the exact metrics are used. */
const quickMetrics: QuickMetrics = {
  inexact: "inexact",
  // Other affinities can store numbers as strings, which `sum()` converts differently.
  serves: (column) => isWhole(column) && affinityOf(column) === "INTEGER",
  sum: (column) => ofIntegers(column, (sum) => sum),
  average: (column) =>
    ofIntegers(column, (sum) => sql`CAST(${sum} AS REAL) / count(${identifier(column.dbName)})`),
};

function ofIntegers(column: ColumnInfo, metric: (sum: Fragment) => Fragment): Fragment {
  const sum = sql`sum(${identifier(column.dbName)})`;
  return sql`CASE typeof(${sum}) WHEN 'real' THEN 'inexact' ELSE ${metric(sum)} END`;
}

/** Computes exact sums: SQLite's `sum()` fails beyond 64 bits, and adds decimals as doubles. */
export const sqliteMetrics: MetricDialect = {
  // In an existing NOCASE column, the minimum could be any of several equal strings.
  extreme: (name, column) => {
    const collation = rawSql(
      column.kind === "text" && column.existingType !== null ? " COLLATE BINARY" : "",
    );
    return sql`${rawSql(name)}(${identifier(column.dbName)}${collation})`;
  },
  sum: (column) =>
    // In a number column, a string that is not a number counts as 0, as in SQLite. Without the
    // cast, SQLite would add integers of a column without a type as integers, which can overflow.
    isDouble(column) ? sql`sum(CAST(${identifier(column.dbName)} AS REAL))` : exactSum(column),
  average(column, digits) {
    const name = identifier(column.dbName);
    if (isDouble(column)) return sql`avg(CAST(${name} AS REAL))`;
    return kindProperties[column.kind].arithmetic === "decimal"
      ? sql`service_average(${exactSum(column)}, count(${name}), ${rawSql(String(digits))})`
      : sql`service_mean(${exactSum(column)}, count(${name}))`;
  },
  quick: quickMetrics,
  boundExact: (plain) => sql`${toSortableDecimal(plain)}`,
  decodeExact(value, onInvalidValue) {
    if (typeof value !== "string") return String(value);
    const [plain, mark] = unmarked(value, fromSortableDecimal);
    if (mark !== "") onInvalidValue();
    return plain;
  },
};

/** Returns true for doubles, and for columns without a type: their values are added as doubles. */
function isDouble({ kind }: ColumnInfo): boolean {
  const { arithmetic } = kindProperties[kind];
  return arithmetic === "double" || arithmetic === null;
}

export const metricFunctions: readonly (readonly [
  name: string,
  work: (first: unknown, second: unknown, third: unknown) => string | number | null,
])[] = [
  /** The sortable total of three sums: high and low halves of integers, and all other values. */
  ["service_total", (high, low, rest) => {
    if (high === null && rest === null) return null;
    const integers = high === null ? 0n : (BigInt(String(high)) << 32n) + BigInt(String(low));
    if (rest === null) return toSortableDecimal(String(integers));
    const [others, mark] = unmarked(String(rest), (text) => text);
    if (integers === 0n) return toSortableDecimal(others) + mark;
    const sum = addExactDecimals({ units: integers, scale: 0 }, parseExactDecimal(others));
    return toSortableDecimal(printExactDecimal(sum)) + mark;
  }],
  ["service_average", (total, count, digits) => {
    if (total === null) return null;
    const [sum, mark] = unmarked(
      String(total),
      (text) => parseExactDecimal(fromSortableDecimal(text)),
    );
    const average = divideExactDecimal(sum, BigInt(Number(count)), Number(digits));
    return toSortableDecimal(printExactDecimal(average)) + mark;
  }],
  ["service_mean", (total, count) => {
    if (total === null) return null;
    const [sum] = unmarked(String(total), (text) => Number(fromSortableDecimal(text)));
    return sum / Number(count);
  }],
];

export interface ExactSumState {
  exact: ExactDecimal;
  /** The part of the sum that `exact` lacks, in millionths: an integer that a double can hold. */
  millionths: number;
  isEmpty: boolean;
  isOdd: boolean;
}

/**
 * The SQL aggregate for the exact sum of doubles, in their shortest decimal form, and of numbers in
 * strings. Another value counts as 0, but adds {@link oddMark} to the result.
 */
export const exactSumAggregate = {
  name: "service_rest",
  start: (): ExactSumState => ({ exact: nothing, millionths: 0, isEmpty: true, isOdd: false }),
  step(sum: ExactSumState, value: unknown): ExactSumState {
    sum.isEmpty = false;
    if (typeof value === "number") {
      const millionths = Math.round(value * 1e6);
      // A decimal with at most 15 digits that equals the double is the double's shortest form.
      if (Math.abs(millionths) < 1e15 && millionths / 1e6 === value) {
        sum.millionths += millionths;
        if (Math.abs(sum.millionths) > 8e15) flushMillionths(sum);
        return sum;
      }
    }
    const isNumeric = typeof value === "number" || typeof value === "string";
    const plain = isNumeric ? plainDecimal(String(value)) : null;
    if (plain === null) sum.isOdd = true;
    else sum.exact = addExactDecimals(sum.exact, parseExactDecimal(plain));
    return sum;
  },
  result(sum: ExactSumState): string | null {
    if (sum.isEmpty) return null;
    // If the sum in millionths has at most 15 digits, the double's shortest form is the exact sum.
    const isShort = sum.exact === nothing && Math.abs(sum.millionths) < 1e15;
    if (!isShort) flushMillionths(sum);
    const plain = isShort ? String(sum.millionths / 1e6) : printExactDecimal(sum.exact);
    return plain + (sum.isOdd ? oddMark : "");
  },
};

/** The mark after a sum in which an invalid value counted as 0. Sorting ignores the mark. */
const oddMark = "!";

const nothing: ExactDecimal = { units: 0n, scale: 0 };

function exactSum(column: ColumnInfo): Fragment {
  const name = identifier(column.dbName);
  const integers = sql`FILTER (WHERE typeof(${name}) = 'integer')`;
  const high = sql`CAST(sum(${name} >> 32) ${integers} AS TEXT)`;
  const low = sql`CAST(sum(${name} & 4294967295) ${integers} AS TEXT)`;
  const rest = sql`${rawSql(exactSumAggregate.name)}(${name}) FILTER (
    WHERE typeof(${name}) IN ('real', 'text', 'blob'))`;
  return sql`service_total(${high}, ${low}, ${rest})`;
}

function flushMillionths(sum: ExactSumState): void {
  sum.exact = addExactDecimals(sum.exact, { units: BigInt(sum.millionths), scale: 6 });
  sum.millionths = 0;
}

function unmarked<T>(text: string, read: (text: string) => T): readonly [T, mark: string] {
  const isMarked = text.endsWith(oddMark);
  return [read(isMarked ? text.slice(0, -oddMark.length) : text), isMarked ? oddMark : ""];
}

import { type Described, group } from "../../options/option.ts";
import { synchronous } from "../../options/option_kinds.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { type Fragment, sql } from "../../sql/fragment.ts";
import type { Operator } from "./operator.ts";
import { textOperators } from "./text_operators.ts";
import { textSearchOperators } from "./text_search_operators.ts";
import {
  betweenOperator,
  equalOperator,
  greaterOperator,
  greaterOrEqualOperator,
  inOperator,
  isEmptyOperator,
  isNullOperator,
  lessOperator,
  lessOrEqualOperator,
  listOperators,
  notBetweenOperator,
  notEqualOperator,
  outOperator,
} from "./value_operators.ts";

/** The built-in and custom filter operators, by their symbols. */
export type OperatorRegistry = ReadonlyMap<string, Operator>;

/** A custom filter operator. Its SQL and its evaluation in memory must have equal results. */
export interface CustomOperator {
  /** Returns the SQL condition. `dialect.operand(column)` is the column, and values are strings. */
  toSql(column: ColumnInfo, values: readonly string[], dialect: Dialect): Fragment;
  /** Evaluates the operator in memory, for live updates. It is not called for NULL. */
  matches(value: unknown, values: readonly string[], column: ColumnInfo): boolean;
}

/** Defines the members that a custom operator must have. */
export const customOperatorRules = group(
  {
    toSql: synchronous<CustomOperator["toSql"]>().required(),
    matches: synchronous<CustomOperator["matches"]>().required(),
  } satisfies Described<CustomOperator>,
).asGiven<CustomOperator>();

/** The built-in operators of the filter language, such as `==` and `=in=`. */
export const builtInOperators: readonly Operator[] = [
  equalOperator,
  notEqualOperator,
  greaterOperator,
  greaterOrEqualOperator,
  lessOperator,
  lessOrEqualOperator,
  inOperator,
  outOperator,
  betweenOperator,
  notBetweenOperator,
  ...textOperators,
  ...listOperators,
  ...textSearchOperators,
  isNullOperator,
  isEmptyOperator,
];

const builtIn: OperatorRegistry = bySymbol(builtInOperators);

/**
 * Creates the registry of the built-in and custom operators. Their symbols are complete
 * (`"=near="`). Throws a plain Error for a symbol that is taken or invalid in the filter syntax.
 */
export function createOperatorRegistry(
  custom: Readonly<Record<string, CustomOperator>>,
): OperatorRegistry {
  const entries = Object.entries(custom);
  if (entries.length === 0) return builtIn;
  return bySymbol([
    ...builtInOperators,
    ...entries.map(([symbol, operator]) => customOperator(symbol, operator)),
  ]);
}

function customOperator(symbol: string, { toSql, matches }: CustomOperator): Operator {
  if (!/^=[A-Za-z0-9_-]{1,31}=$/.test(symbol)) {
    throw new Error(`Cannot add the operator "${symbol}": a symbol looks like "=near="`);
  }
  if (builtIn.has(symbol)) {
    throw new Error(`Cannot add the operator "${symbol}": the filter language has one`);
  }
  return {
    symbols: [symbol],
    takes: "texts",
    nullMeans: null,
    testsNull: false,
    accepts: () => true,
    // NULL never matches, even if the custom SQL is true for it.
    toSql: (column, values, dialect) =>
      sql`(${dialect.operand(column)} IS NOT NULL AND (${
        toSql(column, values.map(String), { ...dialect, operand: dialect.textOperand })
      }))`,
    work: () => customWork,
    matches: (value, values, column) => matches(value, values.map(String), column),
  };
}

/** The assumed number of steps of a custom operator for each character of a string. */
const customWork = 10;

function bySymbol(operators: readonly Operator[]): OperatorRegistry {
  return new Map(
    operators.flatMap((operator) => operator.symbols.map((symbol) => [symbol, operator] as const)),
  );
}

import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { type Fragment, join, rawSql, sql } from "../../sql/fragment.ts";
import type { Operator } from "./operator.ts";
import { textOperators } from "./text_operators.ts";
import { kinds } from "../../schema/kind_of.ts";
import {
  elementOf,
  hasEquality,
  isDocument,
  isOrdered,
} from "../../schema/structured/structured_value.ts";
import { type Comparison, comparison } from "../filter.ts";
import type { Quantifier } from "../../sql/list_dialect.ts";

export const equalOperator: Operator = {
  symbols: ["=="],
  takes: "value",
  nullMeans: true,
  testsNull: false,
  accepts: hasEquality,
  toSql: (column, [value], dialect) =>
    equalitySql(column, dialect, sql`= ${dialect.bound(value, column)}`),
  matches: (value, [bound], column) => compareValues(value, bound, column) === 0,
};

export const notEqualOperator: Operator = {
  ...equalOperator,
  symbols: ["!="],
  nullMeans: false,
  toSql: (column, [value], dialect) =>
    sql`${dialect.operand(column)} <> ${dialect.bound(value, column)}`,
  matches: (value, [bound], column) => compareValues(value, bound, column) !== 0,
};

export const greaterOperator: Operator = ordering([">", "=gt="], (order) => order > 0);
export const greaterOrEqualOperator: Operator = ordering([">=", "=ge="], (order) => order >= 0);
export const lessOperator: Operator = ordering(["<", "=lt="], (order) => order < 0);
export const lessOrEqualOperator: Operator = ordering(["<=", "=le="], (order) => order <= 0);

export const inOperator: Operator = membership("=in=", "IN", true);
export const outOperator: Operator = membership("=out=", "NOT IN", false);

/** The operator `=between=` on two values, inclusive. Reversed bounds match nothing. */
export const betweenOperator: Operator = range("=between=", "BETWEEN", true);
/** The operator `=nbetween=` on two values: negates `=between=`, except that NULL never matches. */
export const notBetweenOperator: Operator = range("=nbetween=", "NOT BETWEEN", false);

/** Returns an equality test. If the index equates different values, adds an exact condition. */
export function equalitySql(column: ColumnInfo, dialect: Dialect, test: Fragment): Fragment {
  const exact = sql`${dialect.operand(column)} ${test}`;
  const indexed = dialect.indexed(column);
  return indexed === null ? exact : sql`(${indexed} ${test} AND ${exact})`;
}

function ordering(symbols: readonly [string, string], holds: (order: number) => boolean): Operator {
  const sign = rawSql(symbols[0]);
  return {
    symbols,
    takes: "value",
    nullMeans: null,
    testsNull: false,
    accepts: isOrdered,
    toSql: (column, [value], dialect) =>
      sql`${dialect.ordered(column)} ${sign} ${dialect.bound(value, column)}`,
    matches: (value, [bound], column) => holds(compareValues(value, bound, column)),
  };
}

function membership(symbol: string, keyword: "IN" | "NOT IN", wanted: boolean): Operator {
  return {
    symbols: [symbol],
    takes: "list",
    nullMeans: null,
    testsNull: false,
    accepts: hasEquality,
    toSql(column, values, dialect) {
      const list = join(values.map((value) => dialect.bound(value, column)), ", ");
      const test = sql`${rawSql(keyword)} (${list})`;
      return wanted ? equalitySql(column, dialect, test) : sql`${dialect.operand(column)} ${test}`;
    },
    matches: (value, values, column) =>
      values.some((bound) => compareValues(value, bound, column) === 0) === wanted,
  };
}

function range(symbol: string, keyword: string, wanted: boolean): Operator {
  return {
    symbols: [symbol],
    takes: "pair",
    nullMeans: null,
    testsNull: false,
    accepts: isOrdered,
    toSql(column, [from, to], dialect) {
      const bounds = sql`${dialect.bound(from, column)} AND ${dialect.bound(to, column)}`;
      // The parentheses keep the AND of BETWEEN apart from an AND of the filter.
      return sql`(${dialect.ordered(column)} ${rawSql(keyword)} ${bounds})`;
    },
    matches(value, [from, to], column) {
      const within = compareValues(value, from, column) >= 0 &&
        compareValues(value, to, column) <= 0;
      return within === wanted;
    },
  };
}

/** Compares JavaScript values. For a kind without an order, only the result 0 has a meaning. */
function compareValues(left: unknown, right: unknown, column: ColumnInfo): number {
  const { compare } = kinds[column.kind];
  return compare === null ? Number(left !== right) : compare(left, right);
}

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

/** The operator `=isempty=`: NULL or `''`. Equivalent to `=isnull=` for all kinds except `text`. */
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
    // In memory, an empty JSON string and empty bytes are `""`, too, but only strings match.
    const isEmpty = value === null || (value === "" && column.kind === "text");
    return isEmpty === wanted;
  },
};

export function nullTest(column: ColumnInfo, isNull: boolean): Comparison {
  return comparison(isNullOperator, column, [isNull]);
}

export const hasOperator: Operator = listOperator("=has=", "item", "all");
export const hasAnyOperator: Operator = listOperator("=hasany=", "items", "any");
export const hasAllOperator: Operator = listOperator("=hasall=", "items", "all");

export const listOperators: readonly Operator[] = [hasOperator, hasAnyOperator, hasAllOperator];

function listOperator(symbol: string, takes: "item" | "items", quantifier: Quantifier): Operator {
  return {
    symbols: [symbol],
    takes,
    nullMeans: null,
    testsNull: false,
    accepts: (column) =>
      elementOf(column) === null ? isDocument(column) : column.databaseType?.ordered === true,
    toSql: (column, values, dialect) => dialect.lists.holds(column, values, quantifier),
    matches() {
      throw new Error(`Cannot decide ${symbol} in memory: the database looks into lists`);
    },
  };
}

export type OperatorRegistry = ReadonlyMap<string, Operator>;

/** A custom filter operator. Its SQL and its evaluation in memory must have equal results. */
export interface CustomOperator {
  /** Returns the SQL condition. `dialect.operand(column)` is the column, and values are strings. */
  toSql(column: ColumnInfo, values: readonly string[], dialect: Dialect): Fragment;
  /** Evaluates the operator in memory, for live updates. It is not called for NULL. */
  matches(value: unknown, values: readonly string[], column: ColumnInfo): boolean;
}

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

/** The keys of `custom` are symbols, such as `=near=`. Throws for a taken or invalid symbol. */
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

const customWork = 10;

function bySymbol(operators: readonly Operator[]): OperatorRegistry {
  return new Map(
    operators.flatMap((operator) => operator.symbols.map((symbol) => [symbol, operator] as const)),
  );
}

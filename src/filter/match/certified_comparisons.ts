import { significantDigits } from "../../schema/kinds/decimal_kind.ts";
import { fitsKind } from "../../schema/kinds/fits_kind.ts";
import type { CellClass, Dialect } from "../../sql/dialect.ts";
import type { Comparison } from "../filter.ts";
import { isNullOperator } from "../operators/null_operators.ts";
import type { Operator } from "../operators/operator.ts";
import {
  betweenOperator,
  greaterOperator,
  greaterOrEqualOperator,
  lessOperator,
  lessOrEqualOperator,
  notBetweenOperator,
} from "../operators/value_operators.ts";

/** The comparisons that are certified for evaluation in memory. The database evaluates the rest. */
export interface CertifiedComparisons {
  /** Returns true if the results in memory and in the database are equal for all valid values. */
  isCertain(comparison: Comparison): boolean;
  /** Removes this operator on this kind of column, because memory and database have differed. */
  demote(comparison: Comparison): void;
}

/**
 * Creates the set of certified comparisons from the operators that the tests certify for the
 * engine. A comparison that is removed from the set never returns.
 */
export function createCertifiedComparisons(dialect: Dialect): CertifiedComparisons {
  const certified = new Set(
    Object.entries(dialect.certified).flatMap(([cell, symbols]) =>
      symbols.split(" ").map((symbol) => `${cell} ${symbol}`)
    ),
  );
  const demoted = new Set<string>();
  return {
    isCertain(comparison) {
      if (comparison.path !== undefined || !comparesAsMemory(comparison, dialect)) return false;
      if (!hasValuesOfKind(comparison)) return false;
      const cell = cellOf(comparison);
      // A custom operator is defined in SQL and in memory. The shadow check compares both results.
      return !demoted.has(cell) && (certified.has(cell) || isCustom(comparison.operator));
    },
    demote: (comparison) => {
      demoted.add(cellOf(comparison));
    },
  };
}

/** Returns true if every value fits its kind. NaN and infinities do not fit. */
function hasValuesOfKind({ column, operator: { takes }, values }: Comparison): boolean {
  const isTyped = takes === "value" || takes === "list" || takes === "pair";
  return !isTyped || values.every((value) => fitsKind(value, column));
}

/** Returns the class of columns for which a comparison is certified. */
export function cellClassOf({ column, values }: Comparison): CellClass {
  const isLong = column.kind === "decimal" &&
    values.some((value) => typeof value === "string" && isLongDecimal(value));
  return isLong ? "long decimal" : column.kind;
}

/** Returns true for a decimal of over 15 digits, or one that is too large or small for a double. */
function isLongDecimal(text: string): boolean {
  return text.length > 290 || significantDigits(text) > 15;
}

function cellOf(comparison: Comparison): string {
  return `${cellClassOf(comparison)} ${comparison.operator.symbols[0]}`;
}

function comparesAsMemory({ column, operator }: Comparison, dialect: Dialect): boolean {
  switch (dialect.comparesAsMemory(column)) {
    case "wholly":
      return true;
    case "but for order":
      return !ranges.has(operator) && !isCustom(operator);
    case "never":
      return operator === isNullOperator;
  }
}

function isCustom({ takes }: Operator): boolean {
  return takes === "texts";
}

const ranges: ReadonlySet<Operator> = new Set([
  greaterOperator,
  greaterOrEqualOperator,
  lessOperator,
  lessOrEqualOperator,
  betweenOperator,
  notBetweenOperator,
]);

import { significantDigits } from "../../schema/decimal_kind.ts";
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

/** Which comparisons memory may decide for one database; the others are asked of it. */
export interface CertifiedComparisons {
  /** Whether memory gives the database's answer, for every row whose value fits its kind. */
  isCertain(comparison: Comparison): boolean;
  /** From now on trusts no comparison of this kind with this operator: memory was seen to err. */
  demote(comparison: Comparison): void;
}

/** Begins with what the tests have proved of the engine; what is demoted stays so. */
export function createCertifiedComparisons(dialect: Dialect): CertifiedComparisons {
  const certified = new Set(
    Object.entries(dialect.certified).flatMap(([cell, symbols]) =>
      symbols.split(" ").map((symbol) => `${cell} ${symbol}`)
    ),
  );
  const demoted = new Set<string>();
  return {
    isCertain(comparison) {
      if (!comparesAsMemory(comparison, dialect)) return false;
      const cell = cellOf(comparison);
      // Who adds an operator gives it in two forms that agree, and the shadow check looks after it.
      return !demoted.has(cell) && (certified.has(cell) || isCustom(comparison.operator));
    },
    demote: (comparison) => {
      demoted.add(cellOf(comparison));
    },
  };
}

/** What a comparison is certified as. */
export function cellClass({ column, values }: Comparison): CellClass {
  const isLong = column.kind === "decimal" &&
    values.some((value) => typeof value === "string" && isLongDecimal(value));
  return isLong ? "long decimal" : column.kind;
}

/** Beyond 15 digits, or so far from 1 that a double has fewer. */
function isLongDecimal(text: string): boolean {
  return text.length > 290 || significantDigits(text) > 15;
}

function cellOf(comparison: Comparison): string {
  return `${cellClass(comparison)} ${comparison.operator.symbols[0]}`;
}

/** Whether a column that somebody else declared is compared like one of ours. */
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

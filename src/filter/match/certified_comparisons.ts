import { significantDigits } from "../../schema/kinds/number_kinds.ts";
import { fitsKind } from "../../schema/kinds/fits_kind.ts";
import type { CellClass, Dialect } from "../../sql/dialect.ts";
import type { Comparison } from "../filter.ts";
import type { Operator } from "../operators/operator.ts";
import {
  betweenOperator,
  greaterOperator,
  greaterOrEqualOperator,
  isNullOperator,
  lessOperator,
  lessOrEqualOperator,
  notBetweenOperator,
} from "../operators/operator_registry.ts";

export interface CertifiedComparisons {
  isCertain(comparison: Comparison): boolean;
  /** Stops evaluating this operator in memory for this kind of column, after a wrong result. */
  demote(comparison: Comparison): void;
}

/** Creates the set of comparisons with equal results in memory and in SQL, as tests have shown. */
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
      // A custom operator is trusted until a check in the database finds a different result.
      return !demoted.has(cell) && (certified.has(cell) || isCustom(comparison.operator));
    },
    demote: (comparison) => {
      demoted.add(cellOf(comparison));
    },
  };
}

function hasValuesOfKind({ column, operator: { takes }, values }: Comparison): boolean {
  const isTyped = takes === "value" || takes === "list" || takes === "pair";
  return !isTyped || values.every((value) => fitsKind(value, column));
}

export function cellClassOf({ column, values }: Comparison): CellClass {
  const isLong = column.kind === "decimal" &&
    values.some((value) => typeof value === "string" && isLongDecimal(value));
  return isLong ? "long decimal" : column.kind;
}

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

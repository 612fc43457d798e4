import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import { unreachable } from "../../problem/unreachable.ts";
import { InvalidValue, unrestrictedRules } from "../../schema/kind.ts";
import { elementOf, kindOfColumn } from "../../schema/structured/kind_of_column.ts";
import { parseSafeNumber } from "../../schema/safe_numbers.ts";
import { requireStorableText } from "../../schema/kinds/text_kind.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { comparison, type Filter, missingRows, noRows } from "../filter.ts";
import { type JsonOperand, toJsonOperand } from "../json_operand.ts";
import type { JsonPath } from "../../sql/json_path_dialect.ts";
import { pathOperandFault } from "./path_comparison.ts";
import { patternFault } from "./like_pattern.ts";
import type { Operator, OperatorTakes } from "./operator.ts";

/**
 * Returns a comparison for values from code, which are data and never syntax. It fails closed:
 * undefined, null, NaN and a value that the column cannot store become {@link missingRows}, so a
 * missing user id never grants access. An empty list matches no row. `nullTest` tests for NULL.
 * Throws a TypeError for a whole number beyond 2^53, which JavaScript rounds, except for a column
 * of reals.
 */
export function failClosedComparison(
  operator: Operator,
  column: ColumnInfo,
  values: readonly unknown[],
  path: JsonPath | null = null,
): Filter {
  const count = operator.takes === "pair" ? 2 : 1;
  const isOpenEnded = ["list", "items", "texts"].includes(operator.takes);
  if (isOpenEnded && values.length === 0) return noRows;
  if (!isOpenEnded && values.length !== count) return missingRows;
  try {
    const toOperand = (value: unknown) =>
      path === null ? ofColumn(parseSafeNumber(value), column) : ofDocument(parseSafeNumber(value));
    const toItem = (value: unknown) => ofItems(parseSafeNumber(value), column);
    const isItem = operator.takes === "item" || operator.takes === "items";
    const operands = values.map((value) =>
      fromCode(value, operator.takes, isItem ? toItem : toOperand)
    );
    if (path === null) return comparison(operator, column, operands);
    const isTyped = operator.takes === "value" || operator.takes === "pair";
    // The cast is safe: values for a path were converted to operands above.
    const fault = isTyped ? pathOperandFault(operator, operands as readonly JsonOperand[]) : null;
    return fault === null ? { ...comparison(operator, column, operands), path } : missingRows;
  } catch (error) {
    if (error instanceof InvalidValue) return missingRows;
    throw error;
  }
}

function fromCode(
  value: unknown,
  takes: OperatorTakes,
  toOperand: (value: unknown) => unknown,
): unknown {
  if (value === null || value === undefined) throw new InvalidValue("must be given");
  switch (takes) {
    case "value":
    case "list":
    case "pair":
    case "item":
    case "items":
      return toOperand(value);
    case "text":
    case "pattern":
    case "texts":
      return storableText(value, takes);
    case "flag":
      if (typeof value !== "boolean") throw new InvalidValue("must be true or false");
      return value;
    case "count":
      if (!Number.isSafeInteger(value) || Number(value) < 0) {
        throw new InvalidValue("must be a whole number");
      }
      return value;
    default:
      return unreachable(takes);
  }
}

/** Parses a string as in a filter, because a user id is often a string even for a numeric key. */
function ofColumn(value: unknown, column: ColumnInfo): unknown {
  const kind = kindOfColumn(column);
  if (kindProperties[column.kind].arithmetic !== "double") {
    requireExact(value, "string or a bigint");
  }
  if (typeof value === "string") return kind.fromText(value, column);
  // A value beyond the column's limits is valid here: `size > -1` is true for each size.
  const { precision, scale } = column;
  return kind.fromJson(value, { ...unrestrictedRules, precision, scale });
}

function ofDocument(value: unknown): JsonOperand {
  // The message suggests a bigint, because a string would not equal a number in a document.
  requireExact(value, "bigint");
  return toJsonOperand(value);
}

function requireExact(value: unknown, better: string): void {
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return;
  throw new TypeError(`Give the value ${value} as a ${better}: a number rounds it`);
}

function ofItems(value: unknown, column: ColumnInfo): unknown {
  const element = elementOf(column);
  return element === null ? ofDocument(value) : ofColumn(value, element);
}

function storableText(value: unknown, takes: OperatorTakes): string {
  if (typeof value !== "string") throw new InvalidValue("must be a string");
  requireStorableText(value);
  const fault = takes === "pattern" ? patternFault(value) : null;
  if (fault !== null) throw new InvalidValue(fault);
  return value;
}

import { unreachable } from "../../problem/unreachable.ts";
import { InvalidValue } from "../../schema/kind.ts";
import { kindOf } from "../../schema/kind_of.ts";
import { requireStorableText } from "../../schema/text_kind.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { comparison, type Filter, noRows } from "../filter.ts";
import { patternFault } from "./like_pattern.ts";
import type { Operator, OperatorTakes } from "./operator.ts";

/**
 * Makes a comparison that fails closed, with values from code, which are data and never syntax:
 * undefined, null, NaN, an empty list, and a value that the column could not hold all give `none`,
 * so that a missing user id never grants access. `nullTest` tests for NULL.
 */
export function failClosedComparison(
  operator: Operator,
  column: ColumnInfo,
  values: readonly unknown[],
): Filter {
  const count = operator.takes === "pair" ? 2 : 1;
  const isOpenEnded = operator.takes === "list" || operator.takes === "texts";
  if (isOpenEnded ? values.length === 0 : values.length !== count) return noRows;
  try {
    return comparison(
      operator,
      column,
      values.map((value) => fromCode(value, operator.takes, column)),
    );
  } catch (error) {
    if (error instanceof InvalidValue) return noRows;
    throw error;
  }
}

function fromCode(value: unknown, takes: OperatorTakes, column: ColumnInfo): unknown {
  if (value === null || value === undefined) throw new InvalidValue("must be given");
  switch (takes) {
    case "value":
    case "list":
    case "pair":
      // A text is parsed like a literal: a user id is a text even where the key is a number.
      return typeof value === "string"
        ? kindOf(column.kind).fromText(value, column)
        : kindOf(column.kind).fromJson(value, column);
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

function storableText(value: unknown, takes: OperatorTakes): string {
  if (typeof value !== "string") throw new InvalidValue("must be a string");
  requireStorableText(value);
  const fault = takes === "pattern" ? patternFault(value) : null;
  if (fault !== null) throw new InvalidValue(fault);
  return value;
}

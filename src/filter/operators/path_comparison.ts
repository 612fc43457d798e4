import { unreachable } from "../../problem/unreachable.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { type Fragment, join, sql } from "../../sql/fragment.ts";
import type { JsonPath, JsonPathValue } from "../../sql/json_path_dialect.ts";
import { type Comparison, comparison, type Filter, missingRows, noRows } from "../filter.ts";
import {
  type JsonOperand,
  type JsonOperandType,
  jsonOperandType,
  toJsonOperand,
} from "../json_operand.ts";
import type { Operator, OperatorTakes } from "./operator.ts";
import {
  equalOperator,
  inOperator,
  isEmptyOperator,
  notEqualOperator,
  outOperator,
} from "./operator_registry.ts";
import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import { InvalidValue, unrestrictedRules } from "../../schema/kind.ts";
import { elementOf, kindOfColumn } from "../../schema/structured/structured_value.ts";
import { parseSafeNumber } from "../../schema/safe_numbers.ts";
import { requireStorableText } from "../../schema/kinds/text_kind.ts";
import { patternFault } from "./like_pattern.ts";

/** Returns false for list, search and custom operators: they cannot test a value in a document. */
export function fitsDocumentPaths({ takes }: Operator): boolean {
  return !["texts", "item", "items", "query"].includes(takes);
}

/** Returns why operands do not fit, as a message without its subject, or null if they fit. */
export function pathOperandFault(
  operator: Operator,
  operands: readonly JsonOperand[],
): string | null {
  if (anyType.has(operator)) return null;
  const [type, ...others] = new Set(operands.map(jsonOperandType));
  if (others.length > 0) return "must be of the type of the other value";
  return type === "boolean" ? "must be a number or a string to have an order" : null;
}

/** The operators for operands of any type. Operators such as `>` need a type with an order. */
const anyType: ReadonlySet<Operator> = new Set([
  equalOperator,
  notEqualOperator,
  inOperator,
  outOperator,
]);

/** Compares an operand only with values of its type. `!=` and `=out=` match other types, too. */
export function pathComparisonSql(
  comparison: Comparison,
  path: JsonPath,
  dialect: Dialect,
): Fragment {
  const { column, operator, values } = comparison;
  const value = dialect.jsonPaths.at(column, path);
  switch (operator.takes) {
    case "flag":
      return operator === isEmptyOperator
        ? emptySql(value, values[0] === true)
        : nullSql(value, values[0] === true);
    case "value":
    case "list":
    case "pair":
      return typedSql(comparison, value, dialect);
    case "text":
    case "pattern":
    case "count":
      return operator.toSql(asText(column), values, dialectOf("text", value, dialect));
    case "item":
    case "items":
    case "texts":
    case "query":
      throw new Error(`${operator.symbols[0]} does not fit values within documents`);
    default:
      return unreachable(operator.takes);
  }
}

function nullSql({ type }: JsonPathValue, isNull: boolean): Fragment {
  return isNull ? sql`COALESCE(${type}, 'null') = 'null'` : sql`${type} <> 'null'`;
}

function emptySql(value: JsonPathValue, isEmpty: boolean): Fragment {
  return isEmpty
    ? sql`(${nullSql(value, true)} OR ${value.text} = '')`
    : otherThan(value, sql`${value.text} = ''`);
}

function typedSql(
  { column, operator, values }: Comparison,
  value: JsonPathValue,
  dialect: Dialect,
): Fragment {
  // The cast is safe: for a path, values are converted to operands.
  const operands = values as readonly JsonOperand[];
  const positive = opposites.get(operator) ?? operator;
  const types = Map.groupBy(operands, jsonOperandType);
  const terms = [...types].map(([type, ofType]) =>
    positive.toSql(asText(column), ofType, dialectOf(type, value, dialect))
  );
  const condition = terms.length === 1 ? join(terms, "") : sql`(${join(terms, " OR ")})`;
  return opposites.has(operator) ? otherThan(value, condition) : condition;
}

const opposites: ReadonlyMap<Operator, Operator> = new Map([
  [notEqualOperator, equalOperator],
  [outOperator, inOperator],
]);

/** Negates a condition. Also matches a value of another type, for which the condition is NULL. */
function otherThan(value: JsonPathValue, condition: Fragment): Fragment {
  return sql`(${nullSql(value, false)} AND (${condition}) IS NOT TRUE)`;
}

function asText(column: ColumnInfo): ColumnInfo {
  return { ...column, kind: "text" };
}

function dialectOf(type: JsonOperandType, value: JsonPathValue, dialect: Dialect): Dialect {
  const operand = () => value[type];
  return {
    ...dialect,
    operand,
    textOperand: operand,
    ordered: operand,
    indexed: () => null,
    // The cast is safe: here, operators bind only the operands of the comparison.
    bound: (bound) => boundOperand(bound as JsonOperand, dialect),
  };
}

function boundOperand(operand: JsonOperand, dialect: Dialect): Fragment {
  return typeof operand === "object"
    ? dialect.jsonPaths.boundNumber(operand.number)
    : sql`${String(operand)}`;
}

/**
 * Returns a comparison for values from code, which are data and never syntax. It fails closed:
 * undefined, null, NaN and a value that the column cannot store become {@link missingRows}, so a
 * missing user id never grants access. An empty list matches no row. Throws a TypeError for a whole
 * number beyond 2^53, which JavaScript rounds, except for a column of reals.
 */
export function failClosedComparison(
  operator: Operator,
  column: ColumnInfo,
  values: readonly unknown[],
  path: JsonPath | null = null,
): Filter {
  const count = operator.takes === "pair" ? 2 : 1;
  const isOpenEnded = ["list", "items", "texts", "query"].includes(operator.takes);
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
    case "query":
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

/** Converts a value from code. Parses a string: a user id is often a string for a numeric key. */
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

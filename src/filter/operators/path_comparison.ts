import { unreachable } from "../../problem/unreachable.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { type Fragment, join, sql } from "../../sql/fragment.ts";
import type { JsonPath, JsonPathValue } from "../../sql/json_path_dialect.ts";
import type { Comparison } from "../filter.ts";
import { type JsonOperand, type JsonOperandType, jsonOperandType } from "../json_operand.ts";
import { isEmptyOperator } from "./null_operators.ts";
import type { Operator } from "./operator.ts";
import { equalOperator, inOperator, notEqualOperator, outOperator } from "./value_operators.ts";

/** Returns true for the operators on values in documents: all but custom and list operators. */
export function fitsDocumentPaths({ takes }: Operator): boolean {
  return takes !== "texts" && takes !== "item" && takes !== "items";
}

/** Returns why operands do not fit, as a message that completes "name …", or null if they fit. */
export function pathOperandFault(
  operator: Operator,
  operands: readonly JsonOperand[],
): string | null {
  if (anyType.has(operator)) return null;
  const [type, ...others] = new Set(operands.map(jsonOperandType));
  if (others.length > 0) return "must be of the type of the other value";
  return type === "boolean" ? "must be a number or a text to have an order" : null;
}

/** The operators for operands of any type. All others need a type whose values have an order. */
const anyType: ReadonlySet<Operator> = new Set([
  equalOperator,
  notEqualOperator,
  inOperator,
  outOperator,
]);

/**
 * Returns the SQL of a comparison with a value in a document. An operand is compared only with a
 * value of its own type. `!=` and `=out=` also match values of every other type, but not a missing
 * value or the JSON `null`.
 */
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

/** Negates a condition. A value of another type, for which it is unknown, matches as well. */
function otherThan(value: JsonPathValue, condition: Fragment): Fragment {
  return sql`(${nullSql(value, false)} AND (${condition}) IS NOT TRUE)`;
}

function asText(column: ColumnInfo): ColumnInfo {
  return { ...column, kind: "text" };
}

/** Returns a dialect in which operators compare the value in the document, as this type. */
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

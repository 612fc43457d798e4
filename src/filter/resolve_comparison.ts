import { unreachable } from "../problem/unreachable.ts";
import { InvalidValue } from "../schema/kind.ts";
import { fromSafeKey } from "../schema/kinds/any_key.ts";
import { textKind } from "../schema/kinds/text_kind.ts";
import { elementOf, isAny, kindOfColumn } from "../schema/structured/structured_value.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import type { JsonPath } from "../sql/json_path_dialect.ts";
import { comparison, type Filter } from "./filter.ts";
import { parseJsonOperand } from "./json_operand.ts";
import { patternFault } from "./operators/like_pattern.ts";
import { nullTest } from "./operators/operator_registry.ts";
import type { Operator } from "./operators/operator.ts";
import { fitsDocumentPaths, pathOperandFault } from "./operators/path_comparison.ts";
import { excerptOf, filterError, plusHint, unreadableFilter } from "./syntax/filter_error.ts";
import type { ComparisonSyntax, Literal } from "./syntax/filter_syntax.ts";

export interface ComparedField {
  readonly column: ColumnInfo;
  readonly path: JsonPath | null;
  /** True if the client uses the safe form of JSON, in which a number beyond 2^53 is a string. */
  readonly safeNumbers?: boolean;
}

/** Parses values by the column's kind or, in a document, by the form of the literal. */
export function resolveComparison(
  syntax: ComparisonSyntax,
  field: ComparedField,
  operator: Operator,
): Filter {
  const { column, path } = field;
  // `==null` is valid for every kind, because it tests for NULL.
  if (operator.nullMeans !== null && !syntax.list && isNullWord(syntax.values[0])) {
    const test = nullTest(column, operator.nullMeans);
    return path === null ? test : { ...test, path };
  }
  if (path === null ? !operator.accepts(column) : !fitsDocumentPaths(operator)) {
    throw operatorMismatch(syntax, operator, column);
  }
  requireValueCount(syntax, operator);
  const values = syntax.values.map((literal) => parseLiteral(literal, operator, field));
  if (path === null) return comparison(operator, column, values);
  requireOneType(syntax, column, operator);
  return { ...comparison(operator, column, values), path };
}

function requireOneType(syntax: ComparisonSyntax, column: ColumnInfo, operator: Operator): void {
  if (!["value", "pair"].includes(operator.takes)) return;
  const fault = pathOperandFault(operator, syntax.values.map(parseJsonOperand));
  const last = syntax.values.at(-1);
  if (fault !== null && last !== undefined) throw invalid(last, column, fault);
}

export function operatorMismatch(
  { operator, operatorAt }: ComparisonSyntax,
  { takes }: Operator,
  { name, kind }: ColumnInfo,
): Error {
  const hint = takes === "query"
    ? ". It searches only tsvector columns of Postgres; GET /search searches other columns"
    : "";
  return filterError(
    operatorAt,
    `an operator for the kind ${kind}`,
    `Cannot filter by ${excerptOf(name)}: ${
      excerptOf(operator)
    } does not fit its kind, ${kind}${hint}`,
  );
}

export function requireValueCount(
  { list, values, valuesAt }: ComparisonSyntax,
  { takes }: Operator,
): void {
  if (takes === "list" || takes === "items" || takes === "texts") return;
  const mayBeTwo = takes === "query" && values.length <= 2;
  if (takes === "pair" ? values.length === 2 : !list || mayBeTwo) return;
  const query = "a search, and at most the name of a text search configuration after it";
  const expected = { pair: "exactly two values", query }[String(takes)] ?? "one value";
  throw unreadableFilter(valuesAt, expected, `the operator takes ${expected}`);
}

export function isNullWord(literal: Literal | undefined): boolean {
  return literal !== undefined && !literal.quoted && literal.text === "null";
}

function parseLiteral(literal: Literal, operator: Operator, field: ComparedField): unknown {
  const { column } = field;
  if (isNullWord(literal)) {
    throw invalid(literal, column, `must not be null, which stands after "==" and "!=" only`);
  }
  switch (operator.takes) {
    case "value":
    case "list":
    case "pair":
      return typed(literal, field);
    case "item":
    case "items": {
      const element = elementOf(column);
      const item = { column: element ?? column, path: element === null ? [] : null };
      return typed(literal, item, column);
    }
    case "text":
    case "texts":
    case "query":
      return literal.text;
    case "pattern": {
      const fault = patternFault(literal.text);
      if (fault === null) return literal.text;
      throw invalid(literal, column, fault);
    }
    case "flag":
      if (!literal.quoted && /^(true|false)$/.test(literal.text)) return literal.text === "true";
      throw invalid(literal, column, "must be true or false");
    case "count":
      // A string has at most 0x7fffffff characters, so every larger number has the same result.
      if (!literal.quoted && /^\d+$/.test(literal.text)) {
        return Math.min(Number(literal.text), 0x7fffffff);
      }
      throw invalid(literal, column, "must be a whole number");
    default:
      return unreachable(operator.takes);
  }
}

/** Parses a value of `column`. Errors name `field`: the list if `column` is its element. */
function typed(
  literal: Literal,
  { column, path, safeNumbers }: ComparedField,
  field: ColumnInfo = column,
): unknown {
  try {
    if (path !== null) return parseJsonOperand(literal);
    const isString = literal.quoted && isAny(column);
    if (isString && safeNumbers && column.isWide) return fromSafeKey(literal.text);
    const kind = isString ? textKind : kindOfColumn(column);
    return kind.fromText(literal.text, column);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    const hint = column.kind === "timestamp" ? plusHint(literal.text) : "";
    throw invalid(literal, field, error.message, hint);
  }
}

function invalid({ at, text }: Literal, column: ColumnInfo, message: string, hint = ""): Error {
  return filterError(
    at,
    `a value that ${message}`,
    `Cannot filter by ${excerptOf(column.name)}: ${excerptOf(text)} ${message}${hint}`,
  );
}

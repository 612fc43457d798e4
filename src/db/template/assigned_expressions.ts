import { isWhole, kindProperties } from "../../schema/kinds/kind_properties.ts";
import { InvalidValue, unrestrictedRules } from "../../schema/kind.ts";
import { kinds } from "../../schema/kind_of.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { ColumnsInSql } from "./columns_in_sql.ts";
import type { SqlTerms } from "./sql_terms.ts";
import { isSign, isWord, type SqlToken } from "./sql_parts.ts";

/** An expression that a statement assigns to a column: the tokens from `start` to before `end`. */
export interface AssignedExpression {
  readonly column: ColumnInfo;
  readonly start: number;
  readonly end: number;
}

export function assignmentsOf(
  tokens: readonly SqlToken[],
  columns: ColumnsInSql,
  terms: SqlTerms,
): readonly AssignedExpression[] {
  return tokens.flatMap((_token, index) => {
    if (terms.clauseAt(index) !== "SET" || !isSign(tokens[index + 1], "=")) return [];
    if (!isWord(tokens[index - 1], "SET") && !isSign(tokens[index - 1], ",")) return [];
    const column = columns.endingAt(index);
    return column === null ? [] : [{ column, start: index + 2, end: terms.endOf(index) }];
  });
}

/**
 * Requires an expression whose value all engines store unchanged. Throws a plain Error otherwise.
 * If a value does not fit its column, Postgres converts or rejects it, but SQLite would store a
 * timestamp in a date column, 1.5 in an integer column, and 0.30000000000000004 in a decimal.
 */
export function requirePortableExpression(
  { column, start, end }: AssignedExpression,
  tokens: readonly SqlToken[],
  columns: ColumnsInSql,
  terms: SqlTerms,
): void {
  const [first] = tokens.slice(start, end);
  const source = columns.startingAt(start);
  const isColumn = source !== null && columns.afterPath(start) === end;
  if (isColumn && !fits(source, column)) {
    throw new Error(
      `Cannot store "${source.name}", a ${source.kind}, in "${column.name}", a ${column.kind}: convert it`,
    );
  }
  if (isColumn || isWord(first, "ROUND", "CAST")) return;
  const used = tokens.slice(start, end).filter((_token, at) => !terms.isCondition(start + at));
  if (column.kind === "decimal" && column.scale !== null) {
    if (!used.some((token) => isSign(token, "+", "-", "*", "/"))) return;
    throw new Error(
      `Cannot compute "${column.name}" without rounding: write round(…, ${column.scale})`,
    );
  }
  if (!isWhole(column)) return;
  const hasFraction = used.some((token) => token.kind === "literal" && token.value.includes("."));
  for (let index = start; index < end; index++) {
    const source = terms.isCondition(index) ? null : columns.endingAt(index);
    const isFraction = source !== null && isNumber(source) && !isWhole(source);
    if (!hasFraction && !isFraction) continue;
    throw new Error(`Cannot compute "${column.name}" without rounding: write round(…)`);
  }
}

function isNumber({ kind }: ColumnInfo): boolean {
  return kindProperties[kind].arithmetic !== null;
}

function fits(source: ColumnInfo, target: ColumnInfo): boolean {
  if (isWhole(source)) return isNumber(target);
  if (source.kind !== target.kind) return false;
  return target.scale === null || source.scale !== null && source.scale <= target.scale;
}

/** Throws a plain Error for a literal that another engine could read as another value. */
export function requirePortableLiteral(
  column: ColumnInfo,
  { value, isText }: Extract<SqlToken, { readonly kind: "literal" }>,
  stores: boolean,
): void {
  if (isReadable(column, value, isText, stores)) return;
  const what = column.kind === "timestamp" ? "moment" : column.kind;
  throw new Error(`Cannot read the ${what} beside "${column.name}" from the text: interpolate it`);
}

function isReadable(column: ColumnInfo, text: string, isText: boolean, stores: boolean): boolean {
  const { kind } = column;
  const { arithmetic, isQuotedInSql } = kindProperties[kind];
  if (isText ? !isQuotedInSql : arithmetic === null) return false;
  if (!isText && (arithmetic === "double" || !stores)) return true;
  try {
    // A number in the SQL has no sign here, because the sign is a separate token.
    const given = kind === "integer" ? Number(text) : text;
    return kinds[kind].fromJson(given, stores ? column : unrestrictedRules) === given || !isText;
  } catch (error) {
    if (error instanceof InvalidValue) return false;
    throw error;
  }
}

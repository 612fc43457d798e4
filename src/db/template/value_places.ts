import type { ColumnInfo } from "../../schema/table_info.ts";
import {
  afterParenthesis,
  type ColumnsInSql,
  itemsBetween,
  outerWord,
  partAt,
} from "./columns_in_sql.ts";
import type { FlatTemplate } from "./sql_parts.ts";
import { isSign, isWord, type SqlToken } from "./sql_tokens.ts";
import { requireRoundedDecimals } from "./rounded_decimals.ts";
import { termsOf } from "./sql_terms.ts";

/** Where a value stands in a statement, which says how it is bound. */
export type ValuePlace =
  /** It is written into the column, or compared with it. */
  | {
    readonly kind: "column";
    readonly column: ColumnInfo;
    readonly stores: boolean;
    /** A list after IN; `opened` when its parenthesis is in the text. */
    readonly list: "none" | "bare" | "opened";
  }
  /** Rows after VALUES, each with values for these columns. */
  | { readonly kind: "rows"; readonly columns: readonly (ColumnInfo | null)[] }
  /** Beside no column. `near` is one of the same expression that a text could be meant for. */
  | { readonly kind: "free"; readonly near: ColumnInfo | null };

const comparisons = ["=", "==", "<>", "!=", "<", "<=", ">", ">="];

/** Finds where the values of a statement stand, by the index of their parts. */
export function valuePlaces(
  template: FlatTemplate,
  columns: ColumnsInSql,
): ReadonlyMap<number, ValuePlace> {
  const { tokens, parts } = template;
  const inserted = insertPlaces(template, columns);
  const terms = termsOf(tokens, columns);
  requireRoundedDecimals(tokens, columns, terms);
  const places = new Map<number, ValuePlace>();
  tokens.forEach((token, index) => {
    if (token.kind === "literal") requireNoMoment(besideValue(tokens, index, columns));
    if (token.kind !== "part" || parts[token.index]?.kind !== "value") return;
    places.set(token.index, inserted.get(index) ?? placeAt(index));
  });
  return places;

  function placeAt(index: number): ValuePlace {
    const stores = terms.clauseAt(index) === "SET";
    const list = listPlace(tokens, index, columns);
    if (list !== null) return { ...list, kind: "column", stores: false };
    const column = besideValue(tokens, index, columns);
    if (column !== null) return { kind: "column", column, stores, list: "none" };
    const isCast = isWord(tokens[index + 1], "AS") && isSign(tokens[index - 1], "(") ||
      isSign(tokens[index + 1], "::");
    return { kind: "free", near: isCast ? null : terms.kindedColumnNear(index) };
  }
}

/** Moments have one form in requests, and each engine another for those that it stores. */
function requireNoMoment(column: ColumnInfo | null): void {
  if (column?.kind !== "timestamp") return;
  throw new Error(`Cannot read the moment beside "${column.name}" from the text: interpolate it`);
}

/** The column that a comparison, BETWEEN or SET puts beside a value. */
function besideValue(
  tokens: readonly SqlToken[],
  index: number,
  columns: ColumnsInSql,
): ColumnInfo | null {
  const before = operandBefore(tokens, index);
  const left = before === null ? null : columns.endingAt(before);
  if (left !== null) return left;
  return isSign(tokens[index + 1], ...comparisons) ? columns.startingAt(index + 2) : null;
}

/** The last token of the operand that is compared with the value after it. */
function operandBefore(tokens: readonly SqlToken[], index: number): number | null {
  let at = index - 1;
  if (isSign(tokens[at], ...comparisons)) return at - 1;
  if (isWord(tokens[at], "IS") || isWord(tokens[at], "NOT") && isWord(tokens[at - 1], "IS")) {
    throw new Error("Cannot interpolate a value after IS: write IS NULL, or IS NOT DISTINCT FROM");
  }
  if (isWord(tokens[at], "FROM") && isWord(tokens[at - 1], "DISTINCT")) {
    at -= isWord(tokens[at - 2], "NOT") ? 3 : 2;
    return isWord(tokens[at], "IS") ? at - 1 : null;
  }
  // The second value of BETWEEN stands after the first.
  if (isWord(tokens[at], "AND") && isWord(tokens[at - 2], "BETWEEN")) at -= 2;
  if (!isWord(tokens[at], "BETWEEN")) return null;
  return isWord(tokens[at - 1], "NOT") ? at - 2 : at - 1;
}

/** A value or a list after IN. */
function listPlace(
  tokens: readonly SqlToken[],
  index: number,
  columns: ColumnsInSql,
): { readonly column: ColumnInfo; readonly list: "bare" | "opened" } | null {
  let at = index - 1;
  while (isSign(tokens[at], ",") && tokens[at - 1]?.kind === "part") at -= 2;
  const isOpened = isSign(tokens[at], "(");
  if (isOpened) at--;
  if (!isWord(tokens[at], "IN") || !isOpened && at !== index - 1) return null;
  const column = columns.endingAt(isWord(tokens[at - 1], "NOT") ? at - 2 : at - 1);
  return column === null ? null : { column, list: isOpened ? "opened" : "bare" };
}

/** The values of INSERT, by the token at which they stand, with the columns they are for. */
function insertPlaces(
  { tokens, parts }: FlatTemplate,
  columns: ColumnsInSql,
): ReadonlyMap<number, ValuePlace> {
  const places = new Map<number, ValuePlace>();
  const into = outerWord(tokens, ["INTO"]);
  if (into < 0 || outerWord(tokens, ["INSERT"]) < 0) return places;
  const open = openOfColumns(tokens, into + 1);
  const close = open === null ? into : afterParenthesis(tokens, open);
  const targets = open === null ? null : itemsBetween(tokens, open + 1, close - 1).map(
    ([start, end]) => end - start === 1 ? columns.endingAt(start) : null,
  );

  function place(items: readonly (readonly [number, number])[]): void {
    items.forEach(([start, end], position) => {
      if (end - start !== 1) return;
      if (tokens[start]?.kind === "literal") requireNoMoment(targets?.[position] ?? null);
      if (partAt(tokens, parts, start)?.kind !== "value") return;
      if (targets === null) {
        throw new Error("Cannot insert values without names of columns: INSERT INTO t (a, b) …");
      }
      const column = targets[position] ?? null;
      if (column === null) return;
      places.set(start, { kind: "column", column, stores: true, list: "none" });
    });
  }

  const values = outerWord(tokens, ["VALUES", "SELECT"], close);
  if (isWord(tokens[values], "SELECT")) {
    const end = outerWord(tokens, selectEnds, values);
    place(itemsBetween(tokens, values + 1, end < 0 ? tokens.length : end));
  } else if (values >= 0) {
    const end = outerWord(tokens, ["ON", "RETURNING"], values);
    for (const [start, after] of itemsBetween(tokens, values + 1, end < 0 ? tokens.length : end)) {
      if (isSign(tokens[start], "(")) {
        place(itemsBetween(tokens, start + 1, afterParenthesis(tokens, start) - 1));
      } else if (after - start === 1) {
        places.set(start, { kind: "rows", columns: targets ?? [] });
      }
    }
  }
  return places;
}

const selectEnds = ["FROM", "WHERE", "UNION", "ON", "RETURNING"];

/** The parenthesis of the names of columns; null where VALUES, SELECT or DEFAULT come first. */
function openOfColumns(tokens: readonly SqlToken[], start: number): number | null {
  for (let index = start; index < tokens.length; index++) {
    if (isSign(tokens[index], "(")) return index;
    if (isWord(tokens[index], "VALUES", "SELECT", "DEFAULT", "WITH")) return null;
  }
  return null;
}

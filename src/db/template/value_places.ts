import { isWhole } from "../../schema/kinds/kind_properties.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import {
  afterParenthesis,
  type ColumnsInSql,
  findWord,
  itemsBetween,
  partAt,
  selectLists,
} from "./columns_in_sql.ts";
import { type FlatTemplate, isSign, isWord, type SqlToken } from "./sql_parts.ts";
import { termsOf } from "./sql_terms.ts";
import {
  type AssignedExpression,
  assignmentsOf,
  requirePortableExpression,
  requirePortableLiteral,
} from "./assigned_expressions.ts";

/** The place of a value in a statement, which determines how it is bound. */
export type ValuePlace =
  /** The value is stored in the column, or compared with it. */
  | {
    readonly kind: "column";
    readonly column: ColumnInfo;
    readonly stores: boolean;
    /** `bare`: directly after IN. `opened`: inside the parentheses after IN. Otherwise `none`. */
    readonly list: "none" | "bare" | "opened";
  }
  | { readonly kind: "rows"; readonly columns: readonly (ColumnInfo | null)[] }
  /** A value in a later SELECT of a UNION. At its position, the first SELECT has this column. */
  | { readonly kind: "united"; readonly column: ColumnInfo }
  /** A number of rows, after LIMIT or OFFSET. */
  | { readonly kind: "count" }
  | {
    readonly kind: "free";
    /** A column in the same expression. A string could be meant as a value of the column's type. */
    readonly near: ColumnInfo | null;
    /** True if an integer column stores the expression, and no ROUND or CAST makes it whole. */
    readonly isWhole?: boolean;
  };

const comparisons = ["=", "<>", "!=", "<", "<=", ">", ">="];

/** Returns the places of a statement's values, by the index of the part in the template. */
export function valuePlaces(
  template: FlatTemplate,
  columns: ColumnsInSql,
): ReadonlyMap<number, ValuePlace> {
  const { tokens, parts } = template;
  const inserted = insertPlaces(template, columns);
  const terms = termsOf(tokens, columns);
  const assignments = assignmentsOf(tokens, columns, terms);
  for (const stored of [...assignments, ...inserted.stored]) {
    requirePortableExpression(stored, tokens, columns, terms);
  }
  const places = new Map<number, ValuePlace>();
  tokens.forEach((token, index) => {
    if (token.kind === "literal") {
      const column = listPlace(tokens, index, columns)?.column ??
        besideValue(tokens, index, columns);
      if (column !== null) requirePortableLiteral(column, token, assignedAt(index) !== undefined);
    }
    if (token.kind !== "part" || parts[token.index]?.kind !== "value") return;
    places.set(token.index, inserted.places.get(index) ?? placeAt(index));
  });
  return places;

  /** Returns the assignment whose expression is this token, or a CASE that results in the token. */
  function assignedAt(index: number): AssignedExpression | undefined {
    return assignments.find(({ start, end }) =>
      start === index && end === index + 1 ||
      start <= index && index < end && isResult(tokens, index)
    );
  }

  function placeAt(index: number): ValuePlace {
    const clause = terms.clauseAt(index);
    const before = tokens[index - 1];
    if (
      isWord(before, ...beforeNames) &&
      !(isWord(before, "FROM") && isWord(tokens[index - 2], "DISTINCT"))
    ) {
      throw valueForName();
    }
    if (clause === "LIMIT" || clause === "OFFSET") return { kind: "count" };
    if ((clause === "ORDER" || clause === "GROUP") && isAlone(tokens, index)) {
      throw new Error(`Cannot ${clause} BY a value: interpolate the column`);
    }
    const list = listPlace(tokens, index, columns);
    if (list !== null) return { ...list, kind: "column", stores: false };
    const assigned = assignedAt(index);
    if (assigned !== undefined) {
      return { kind: "column", column: assigned.column, stores: true, list: "none" };
    }
    const column = besideValue(tokens, index, columns);
    if (column !== null) return { kind: "column", column, stores: false, list: "none" };
    const operand = operandBefore(tokens, index);
    if (operand !== null && columns.isAmbiguous(operand)) {
      throw new Error("Cannot tell which column a value is compared with: interpolate the column");
    }
    const united = unitedColumn(tokens, index, columns);
    if (united !== null) return { kind: "united", column: united };
    const isCast = isWord(tokens[index + 1], "AS") && isSign(tokens[index - 1], "(");
    return {
      kind: "free",
      near: isCast ? null : terms.kindedColumnNear(index),
      isWhole: !terms.isCondition(index) &&
        assignments.some(({ column, start, end }) =>
          start <= index && index < end && isWhole(column) &&
          !isWord(tokens[start], "ROUND", "CAST")
        ),
    };
  }
}

function valueForName(): Error {
  return new Error("Cannot bind a value in place of a name: interpolate the table or the column");
}

/** The keywords after which only a name can follow, not a value. */
const beforeNames = ["FROM", "INTO", "UPDATE", "JOIN", "SET", "TABLE"];

/** Returns the column of a UNION's first SELECT that has the same position as a value. */
function unitedColumn(
  tokens: readonly SqlToken[],
  index: number,
  columns: ColumnsInSql,
): ColumnInfo | null {
  const lists = selectLists(tokens);
  for (const { items, open } of lists) {
    const position = items.findIndex(([start, end]) => start === index && end === index + 1);
    if (position < 0) continue;
    const [from, to] = lists.find((list) => list.open === open)?.items[position] ?? [index, index];
    const end = isWord(tokens[to - 2], "AS") ? to - 2 : to;
    return columns.afterPath(from) === end ? columns.startingAt(from) : null;
  }
  return null;
}

/** Returns true if a value is a complete item of a list, not a part of an expression. */
function isAlone(tokens: readonly SqlToken[], index: number): boolean {
  return (isWord(tokens[index - 1], "BY") || isSign(tokens[index - 1], ",")) &&
    (tokens[index + 1] === undefined || isSign(tokens[index + 1], ",", ";", ")") ||
      tokens[index + 1]?.kind === "word");
}

/** Returns true if a token is a complete THEN or ELSE result of a CASE. */
function isResult(tokens: readonly SqlToken[], index: number): boolean {
  return isWord(tokens[index - 1], "THEN", "ELSE") &&
    isWord(tokens[index + 1], "WHEN", "ELSE", "END");
}

/** Returns the column with which a value is compared, or to which SET assigns the value. */
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
  // This AND belongs to BETWEEN, so the operand is before BETWEEN.
  if (isWord(tokens[at], "AND") && isWord(tokens[at - 2], "BETWEEN")) at -= 2;
  if (!isWord(tokens[at], "BETWEEN")) return null;
  return isWord(tokens[at - 1], "NOT") ? at - 2 : at - 1;
}

function isItem(token: SqlToken | undefined): boolean {
  return token?.kind === "part" || token?.kind === "literal";
}

function listPlace(
  tokens: readonly SqlToken[],
  index: number,
  columns: ColumnsInSql,
): { readonly column: ColumnInfo; readonly list: "bare" | "opened" } | null {
  let at = index - 1;
  while (isSign(tokens[at], ",") && isItem(tokens[at - 1])) at -= 2;
  const isOpened = isSign(tokens[at], "(");
  if (isOpened) at--;
  if (!isWord(tokens[at], "IN") || !isOpened && at !== index - 1) return null;
  const column = columns.endingAt(isWord(tokens[at - 1], "NOT") ? at - 2 : at - 1);
  return column === null ? null : { column, list: isOpened ? "opened" : "bare" };
}

interface Inserted {
  readonly places: ReadonlyMap<number, ValuePlace>;
  readonly stored: readonly AssignedExpression[];
}

function insertPlaces({ tokens, parts }: FlatTemplate, columns: ColumnsInSql): Inserted {
  const places = new Map<number, ValuePlace>();
  const stored: AssignedExpression[] = [];
  const into = findWord(tokens, ["INTO"]);
  if (into < 0 || findWord(tokens, ["INSERT"]) < 0) return { places, stored };
  const open = openOfColumns(tokens, into + 1);
  const close = open === null ? into : afterParenthesis(tokens, open);
  const targets = open === null ? null : itemsBetween(tokens, open + 1, close - 1).map(
    ([start, end]) => {
      if (partAt(tokens, parts, start)?.kind === "value") throw valueForName();
      return end - start === 1 ? columns.endingAt(start) : null;
    },
  );

  function place(items: readonly (readonly [number, number])[]): void {
    items.forEach(([start, end], position) => {
      const column = targets?.[position] ?? null;
      const isOne = end - start === 1;
      const token = tokens[start];
      if (isOne && column !== null && token?.kind === "literal") {
        return requirePortableLiteral(column, token, true);
      }
      if (!isOne || partAt(tokens, parts, start)?.kind !== "value") {
        if (column !== null) stored.push({ column, start, end });
        return;
      }
      if (targets === null) {
        throw new Error("Cannot insert values without names of columns: INSERT INTO t (a, b) …");
      }
      if (column === null) return;
      places.set(start, { kind: "column", column, stores: true, list: "none" });
    });
  }

  const values = findWord(tokens, ["VALUES", "SELECT"], close);
  if (isWord(tokens[values], "SELECT")) {
    const end = findWord(tokens, selectEnds, values);
    place(itemsBetween(tokens, values + 1, end < 0 ? tokens.length : end));
  } else if (values >= 0) {
    const end = findWord(tokens, ["ON", "RETURNING"], values);
    for (const [start, after] of itemsBetween(tokens, values + 1, end < 0 ? tokens.length : end)) {
      if (isSign(tokens[start], "(")) {
        place(itemsBetween(tokens, start + 1, afterParenthesis(tokens, start) - 1));
      } else if (after - start === 1) {
        places.set(start, { kind: "rows", columns: targets ?? [] });
      }
    }
  }
  return { places, stored };
}

const selectEnds = ["FROM", "WHERE", "UNION", "ON", "RETURNING"];

/** Returns the index of the parenthesis before an INSERT's column names, or null without names. */
function openOfColumns(tokens: readonly SqlToken[], start: number): number | null {
  for (let index = start; index < tokens.length; index++) {
    if (isSign(tokens[index], "(")) return index;
    if (isWord(tokens[index], "VALUES", "SELECT", "DEFAULT", "WITH")) return null;
  }
  return null;
}

import { InvalidValue, unrestrictedRules } from "../../schema/kind.ts";
import { kinds } from "../../schema/kind_of.ts";
import { kindProperties } from "../../schema/kinds/kind_properties.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import {
  afterParenthesis,
  type ColumnsInSql,
  findWord,
  itemsBetween,
  partAt,
} from "./columns_in_sql.ts";
import { type FlatTemplate, isSign, isWord, type SqlToken } from "./sql_parts.ts";

export type ValuePlace =
  | {
    readonly kind: "column";
    readonly column: ColumnInfo;
    readonly stores: boolean;
    /** `bare`: directly after IN. `opened`: inside the parentheses after IN. Otherwise `none`. */
    readonly list: "none" | "bare" | "opened";
  }
  | { readonly kind: "rows"; readonly columns: readonly (ColumnInfo | null)[] }
  | { readonly kind: "count" }
  /** The JavaScript type of the value determines how it is bound. */
  | {
    readonly kind: "free";
    /** A column near the value, e.g. a date: a string is refused, because its form is unclear. */
    readonly near: ColumnInfo | null;
    readonly isExact: boolean;
  };

const comparisons = ["=", "<>", "!=", "<", "<=", ">", ">="];
const arithmetic = ["+", "-", "*", "/"];

export function valuePlaces(
  template: FlatTemplate,
  columns: ColumnsInSql,
): ReadonlyMap<number, ValuePlace> {
  const { tokens, parts } = template;
  const inserted = insertPlaces(template, columns);
  const named = namedColumns(template, columns);
  const near = named.find(isWrittenAsString) ?? null;
  const isExact = named.some(({ kind }) => kind === "decimal");
  const places = new Map<number, ValuePlace>();
  tokens.forEach((token, index) => {
    if (isAssigned(tokens, index)) requireRounded(tokens, index, columns.endingAt(index - 2));
    if (token.kind === "literal") {
      const column = listPlace(tokens, index, columns)?.column ??
        besideValue(tokens, index, columns);
      if (column !== null) requirePortableLiteral(column, token, isAssigned(tokens, index));
    }
    if (token.kind !== "part" || parts[token.index]?.kind !== "value") return;
    places.set(token.index, inserted.get(index) ?? placeAt(index));
  });
  return places;

  function placeAt(index: number): ValuePlace {
    const [before, after] = [tokens[index - 1], tokens[index + 1]];
    if (isWord(before, "LIMIT", "OFFSET")) return { kind: "count" };
    const list = listPlace(tokens, index, columns);
    if (list !== null) return { ...list, kind: "column", stores: false };
    const column = besideValue(tokens, index, columns);
    if (column !== null) {
      return { kind: "column", column, stores: isAssigned(tokens, index), list: "none" };
    }
    const operand = operandBefore(tokens, index);
    if (operand !== null && columns.isAmbiguous(operand)) {
      throw new Error("Cannot tell which column a value is compared with: interpolate the column");
    }
    if (isWord(before, "BY")) {
      throw new Error("Cannot sort or group by a value: interpolate the column");
    }
    if (operand === null && isWord(before, ...beforeNames)) {
      throw new Error(
        "Cannot bind a value in place of a name: interpolate the table or the column",
      );
    }
    const isText = isWord(before, "LIKE", "ILIKE") || isSign(before, "||") ||
      isSign(after, "||") || isWord(after, "AS") && isSign(before, "(");
    const isOperand = isSign(before, ...arithmetic) || isSign(after, ...arithmetic);
    return { kind: "free", near: isText ? null : near, isExact: isExact && isOperand };
  }
}

/** The keywords after which only a name can follow, not a value. */
const beforeNames = ["FROM", "INTO", "UPDATE", "JOIN", "SET", "TABLE"];

function namedColumns(
  { tokens, parts }: FlatTemplate,
  columns: ColumnsInSql,
): readonly ColumnInfo[] {
  const hasUnion = tokens.some((token) => isWord(token, "UNION", "INTERSECT", "EXCEPT"));
  const tables = parts.flatMap((part) => hasUnion && part.kind === "table" ? [part.table] : []);
  return [
    ...tokens.flatMap((_token, index) => columns.endingAt(index) ?? []),
    ...tables.flatMap((table) => table.columns),
  ];
}

/** Returns true if values of the kind are JSON strings, whose form in SQL can be different. */
function isWrittenAsString({ kind }: ColumnInfo): boolean {
  return kind !== "text" && !["number", "boolean"].includes(kindProperties[kind].json);
}

/** Requires `round` around a computed decimal, because SQLite would store digits of doubles. */
function requireRounded(
  tokens: readonly SqlToken[],
  index: number,
  column: ColumnInfo | null,
): void {
  if (column?.kind !== "decimal" || column.scale === null) return;
  if (isWord(tokens[index], "ROUND", "CAST")) return;
  const end = findWord(tokens, ["WHERE", "FROM", "RETURNING"], index);
  const [item] = itemsBetween(tokens, index, end < 0 ? tokens.length : end);
  if (!tokens.slice(...item ?? []).some((token) => isSign(token, ...arithmetic))) return;
  throw new Error(
    `Cannot compute "${column.name}" without rounding: write round(…, ${column.scale})`,
  );
}

/** Returns true if SET assigns a token to the column before it, as in `SET a = 1, b = 2`. */
function isAssigned(tokens: readonly SqlToken[], index: number): boolean {
  if (!isSign(tokens[index - 1], "=")) return false;
  let depth = 0;
  for (let at = index - 2; at >= 0; at--) {
    if (isSign(tokens[at], ")")) depth++;
    if (isSign(tokens[at], "(") && --depth < 0) return false;
    if (depth === 0 && isWord(tokens[at], "SET")) return true;
    if (depth === 0 && isWord(tokens[at], "WHERE", "FROM", "SELECT", "ON", "CASE")) return false;
  }
  return false;
}

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

function insertPlaces(
  { tokens, parts }: FlatTemplate,
  columns: ColumnsInSql,
): ReadonlyMap<number, ValuePlace> {
  const places = new Map<number, ValuePlace>();
  const into = findWord(tokens, ["INTO"]);
  if (into < 0 || findWord(tokens, ["INSERT"]) < 0) return places;
  const open = openOfColumns(tokens, into + 1);
  const close = open === null ? into : afterParenthesis(tokens, open);
  const targets = open === null ? null : itemsBetween(tokens, open + 1, close - 1).map(
    ([start, end]) => end - start === 1 ? columns.endingAt(start) : null,
  );

  function place(items: readonly (readonly [number, number])[]): void {
    items.forEach(([start, end], position) => {
      const column = targets?.[position] ?? null;
      const token = tokens[start];
      if (end - start !== 1) return;
      if (column !== null && token?.kind === "literal") {
        return requirePortableLiteral(column, token, true);
      }
      if (partAt(tokens, parts, start)?.kind !== "value") return;
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
  return places;
}

const selectEnds = ["FROM", "WHERE", "UNION", "ON", "RETURNING"];

function openOfColumns(tokens: readonly SqlToken[], start: number): number | null {
  for (let index = start; index < tokens.length; index++) {
    if (isSign(tokens[index], "(")) return index;
    if (isWord(tokens[index], "VALUES", "SELECT", "DEFAULT", "WITH")) return null;
  }
  return null;
}

/** Throws a plain Error for a literal that another engine could read as another value. */
function requirePortableLiteral(
  column: ColumnInfo,
  { value, isText }: Extract<SqlToken, { readonly kind: "literal" }>,
  stores: boolean,
): void {
  if (isReadable(column, value, isText, stores)) return;

  throw new Error(
    `Cannot read the ${column.kind} next to "${column.name}" in the SQL: interpolate the value`,
  );
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

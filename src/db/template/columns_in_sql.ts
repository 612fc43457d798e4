import type { ColumnInfo } from "../../schema/table_info.ts";
import { type FlatTemplate, isSign, isWord, type SqlPart, type SqlToken } from "./sql_parts.ts";

export interface ColumnsInSql {
  /** Returns the known column whose name in the SQL ends at a token, or null if there is none. */
  endingAt(index: number): ColumnInfo | null;
  startingAt(index: number): ColumnInfo | null;
  /** Returns the index after the name, such as `id` or `notes.id`, that begins at a token. */
  afterPath(index: number): number;
  /** Returns the columns that a name can mean; null means a value that a subquery computes. */
  named(dbName: string): readonly (ColumnInfo | null)[];
  isAmbiguous(index: number): boolean;
}

export function columnsInSql({ tokens, parts }: FlatTemplate): ColumnsInSql {
  const tables = [...new Set(parts.flatMap((part) => part.kind === "table" ? part.table : []))];
  const byDbName = new Map<string, (ColumnInfo | null)[]>();
  const add = (name: string, column: ColumnInfo | null) => {
    const same = byDbName.get(name) ?? [];
    if (!same.some((other) => isSame(other, column))) same.push(column);
    byDbName.set(name, same);
  };
  for (const column of tables.flatMap(({ columns }) => columns)) add(column.dbName, column);
  const named = (dbName: string) => byDbName.get(dbName) ?? [];

  function endingAt(index: number): ColumnInfo | null {
    const token = tokens[index];
    const part = partAt(tokens, parts, index);
    if (part?.kind === "column" || part?.kind === "alias") return part.column;
    if (token?.kind !== "word" && token?.kind !== "quoted") return null;
    if (isSign(tokens[index + 1], "(", ".")) return null;
    const [column = null, ...others] = named(token.text);
    return others.length > 0 ? null : column;
  }

  function isAmbiguous(index: number): boolean {
    const token = tokens[index];
    return (token?.kind === "word" || token?.kind === "quoted") &&
      !isSign(tokens[index + 1], "(", ".") && named(token.text).length > 1;
  }

  function afterPath(index: number): number {
    let at = index;
    while (isSign(tokens[at + 1], ".")) at += 2;
    return at + 1;
  }

  const columns: ColumnsInSql = {
    endingAt,
    afterPath,
    startingAt: (index) => endingAt(afterPath(index) - 1),
    named,
    isAmbiguous,
  };
  for (const { name, column } of namesOfSubqueries(tokens, parts, columns)) add(name, column);
  return columns;
}

interface SubqueryName {
  readonly name: string;
  readonly column: ColumnInfo | null;
}

/** Returns the column names of subqueries, from each AS and from lists: `due (id, day) AS (…)`. */
function namesOfSubqueries(
  tokens: readonly SqlToken[],
  parts: readonly SqlPart[],
  columns: ColumnsInSql,
): readonly SubqueryName[] {
  return selectLists(tokens).flatMap(({ items, open }) => {
    if (open === null) return [];
    const isNamed = isWord(tokens[open - 1], "AS") && isSign(tokens[open - 2], ")");
    const names = isNamed ? namesBefore(tokens, open - 2) : [];
    return items.flatMap(([from, to], index): readonly SubqueryName[] => {
      const hasAlias = isWord(tokens[to - 2], "AS");
      const alias = hasAlias ? partAt(tokens, parts, to - 1) : undefined;
      const end = hasAlias ? to - 2 : to;
      const column = alias?.kind === "alias" || alias?.kind === "column"
        ? alias.column
        : columns.afterPath(from) === end
        ? columns.startingAt(from)
        : null;
      const name = names[index] ?? (hasAlias ? nameOf(tokens[to - 1]) ?? column?.dbName : null);
      if (name === null || name === undefined) return [];
      return [{ name, column: column && { ...column, name, dbName: name } }];
    });
  });
}

function namesBefore(tokens: readonly SqlToken[], close: number): readonly (string | null)[] {
  let open = close;
  while (open > 0 && !isSign(tokens[open], "(")) open--;
  return itemsBetween(tokens, open + 1, close).map(([start]) => nameOf(tokens[start]));
}

function nameOf(token: SqlToken | undefined): string | null {
  return token?.kind === "word" || token?.kind === "quoted" ? token.text : null;
}

export interface SelectList {
  readonly items: readonly (readonly [start: number, end: number])[];
  /** The index of the parenthesis that opens a subquery, or null for the outer statement. */
  readonly open: number | null;
}

const listEnds = [
  ...["FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "INTERSECT", "EXCEPT"],
];

export function selectLists(tokens: readonly SqlToken[]): readonly SelectList[] {
  const opens: number[] = [];
  return tokens.flatMap((token, index): readonly SelectList[] => {
    if (isSign(token, "(")) opens.push(index);
    if (isSign(token, ")")) opens.pop();
    if (!isWord(token, "SELECT")) return [];
    const open = opens.at(-1) ?? null;
    const after = open === null ? tokens.length : afterParenthesis(tokens, open) - 1;
    return [{ items: itemsFrom(tokens, index + 1, after), open }];
  });
}

export function itemsFrom(
  tokens: readonly SqlToken[],
  index: number,
  after = tokens.length,
): SelectList["items"] {
  const start = isWord(tokens[index], "DISTINCT", "ALL") ? index + 1 : index;
  let end = findWord(tokens, listEnds, start, after);
  // The FROM of IS DISTINCT FROM does not end the list.
  while (end > 0 && isWord(tokens[end - 1], "DISTINCT")) {
    end = findWord(tokens, listEnds, end + 1, after);
  }
  const semicolon = tokens.findIndex((token) => isSign(token, ";"));
  const last = semicolon >= 0 ? Math.min(semicolon, after) : after;
  return itemsBetween(tokens, start, end >= 0 ? end : last);
}

export function partAt(
  tokens: readonly SqlToken[],
  parts: readonly SqlPart[],
  index: number,
): SqlPart | undefined {
  const token = tokens[index];
  return token?.kind === "part" ? parts[token.index] : undefined;
}

/** Returns true if either column can decode the other's values: same name, kind and format. */
function isSame(left: ColumnInfo | null, right: ColumnInfo | null): boolean {
  if (left === null || right === null) return left === right;
  return left === right ||
    (left.name === right.name && left.kind === right.kind && left.scale === right.scale &&
      left.timestampFormat === right.timestampFormat);
}

export function afterParenthesis(tokens: readonly SqlToken[], open: number): number {
  let depth = 0;
  for (let index = open; index < tokens.length; index++) {
    if (isSign(tokens[index], "(")) depth++;
    if (isSign(tokens[index], ")") && --depth === 0) return index + 1;
  }
  return tokens.length;
}

export function itemsBetween(
  tokens: readonly SqlToken[],
  start: number,
  end: number,
): readonly (readonly [start: number, end: number])[] {
  const items: [number, number][] = [];
  let from = start;
  for (let index = start; index < end; index++) {
    if (isSign(tokens[index], "(")) index = afterParenthesis(tokens, index) - 1;
    else if (isSign(tokens[index], ",")) {
      items.push([from, index]);
      from = index + 1;
    }
  }
  return from < end ? [...items, [from, end]] : items;
}

export function findWord(
  tokens: readonly SqlToken[],
  keywords: readonly string[],
  start = 0,
  end = tokens.length,
): number {
  for (let index = start; index < end; index++) {
    if (isSign(tokens[index], "(")) index = afterParenthesis(tokens, index) - 1;
    else if (isWord(tokens[index], ...keywords)) return index;
  }
  return -1;
}

export function conditionsOfCases(tokens: readonly SqlToken[]): readonly boolean[] {
  let isCondition = false;
  return tokens.map((token) => {
    if (isWord(token, "CASE", "WHEN", "THEN", "ELSE", "END")) isCondition = isWord(token, "WHEN");
    return isCondition;
  });
}

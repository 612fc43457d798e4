import type { ColumnInfo } from "../../schema/table_info.ts";
import type { FlatTemplate, SqlPart } from "./sql_parts.ts";
import { isSign, isWord, type SqlToken } from "./sql_tokens.ts";

/** The columns that a statement names, interpolated or written as text. */
export interface ColumnsInSql {
  /** The column that ends with a token; null where there is none that is known. */
  endingAt(index: number): ColumnInfo | null;
  /** The column that begins with a token, after the name of its table. */
  startingAt(index: number): ColumnInfo | null;
  /** The index after a name and its qualifiers that begin with a token. */
  afterPath(index: number): number;
  /** The columns that a written name may be: of the interpolated tables, and of subqueries. */
  named(dbName: string): readonly ColumnInfo[];
}

/** Finds the columns that a statement names. */
export function columnsInSql({ tokens, parts }: FlatTemplate): ColumnsInSql {
  const tables = [...new Set(parts.flatMap((part) => part.kind === "table" ? part.table : []))];
  const byDbName = new Map<string, ColumnInfo[]>();
  const nameable = [...tables.flatMap(({ columns }) => columns), ...aliasesIn(tokens, parts)];
  for (const column of nameable) {
    const same = byDbName.get(column.dbName) ?? [];
    if (!same.some((other) => isSame(other, column))) same.push(column);
    byDbName.set(column.dbName, same);
  }
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

  function afterPath(index: number): number {
    let at = index;
    while (isSign(tokens[at + 1], ".")) at += 2;
    return at + 1;
  }

  return {
    endingAt,
    afterPath,
    startingAt: (index) => endingAt(afterPath(index) - 1),
    named,
  };
}

/** What a subquery names with AS, for the query around it: columns, and results with a kind. */
function aliasesIn(
  tokens: readonly SqlToken[],
  parts: readonly SqlPart[],
): readonly ColumnInfo[] {
  return tokens.flatMap((token, index) => {
    if (!isWord(token, "AS")) return [];
    const named = partAt(tokens, parts, index + 1);
    if (named?.kind === "alias") return [named.column];
    const alias = tokens[index + 1];
    const part = partAt(tokens, parts, index - 1);
    if (part?.kind !== "column" || (alias?.kind !== "word" && alias?.kind !== "quoted")) return [];
    return [{ ...part.column, name: alias.text, dbName: alias.text }];
  });
}

/** What is interpolated at a token, if anything. */
export function partAt(
  tokens: readonly SqlToken[],
  parts: readonly SqlPart[],
  index: number,
): SqlPart | undefined {
  const token = tokens[index];
  return token?.kind === "part" ? parts[token.index] : undefined;
}

/** Whether two columns are shown under one name in one form, so that either stands for both. */
function isSame(left: ColumnInfo, right: ColumnInfo): boolean {
  return left === right ||
    (left.name === right.name && left.kind === right.kind && left.scale === right.scale &&
      left.timestampFormat === right.timestampFormat);
}

/** The index after the parenthesis that closes what `open` opens; the end where none does. */
export function afterParenthesis(tokens: readonly SqlToken[], open: number): number {
  let depth = 0;
  for (let index = open; index < tokens.length; index++) {
    if (isSign(tokens[index], "(")) depth++;
    if (isSign(tokens[index], ")") && --depth === 0) return index + 1;
  }
  return tokens.length;
}

/** Splits the tokens from `start` to before `end` at the commas outside of parentheses. */
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

/** The first of some keywords outside of parentheses; -1 where there is none before `end`. */
export function outerWord(
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

import { ddlTokenPattern, unquoteIdentifier } from "../../../sql/statements/sql_syntax.ts";

/**
 * Returns the columns that a failed CHECK of a CREATE TABLE names, in the spelling of `columns`.
 * SQLite reports a check by its name, or else by its condition. Empty unless one check matches.
 */
export function columnsOfCheck(
  createTable: string,
  failed: string,
  columns: readonly string[],
): readonly string[] {
  const [check, another] = checksOf(createTable).filter(({ name, text }) =>
    name === null ? text === failed || firstQuoted(text) === failed : name === failed
  );
  if (check === undefined || another !== undefined) return [];
  const named = new Set(
    tokensOf(check.text).filter(isName).map((token) => nameOf(token).toLowerCase()),
  );
  return columns.filter((column) => named.has(column.toLowerCase()));
}

interface Check {
  readonly name: string | null;
  /** The condition between the parentheses. */
  readonly text: string;
}

function checksOf(createTable: string): readonly Check[] {
  const all = tokensOf(createTable);
  const words = [...all.keys()].filter((index) => !blank.test(all[index] ?? ""));
  return words.flatMap((at, place) => {
    const open = words[place + 1];
    if (all[at]?.toUpperCase() !== "CHECK" || open === undefined || all[open] !== "(") return [];
    const [keyword, name] = [words[place - 2], words[place - 1]].map((index) => all[index ?? -1]);
    const hasName = keyword?.toUpperCase() === "CONSTRAINT" && name !== undefined;
    return [{ name: hasName ? nameOf(name) : null, text: parenthesized(all, open) }];
  });
}

function parenthesized(all: readonly string[], open: number): string {
  let depth = 0;
  const length = all.slice(open).findIndex((token) => {
    if (token === "(") depth++;
    return token === ")" && --depth === 0;
  });
  return all.slice(open + 1, open + length).join("").trim();
}

/** Returns the first quoted name. If a condition begins with one, SQLite reports only that name. */
function firstQuoted(text: string): string | null {
  const [first = ""] = tokensOf(text);
  return quoted.test(first) ? unquoteIdentifier(first) : null;
}

function tokensOf(text: string): readonly string[] {
  return [...text.matchAll(ddlTokenPattern)].map(([token]) => token);
}

function isName(token: string): boolean {
  return quoted.test(token) || /^[\p{L}_]/u.test(token);
}

function nameOf(token: string): string {
  return quoted.test(token) ? unquoteIdentifier(token) : token;
}

const quoted = /^["`[]/;
const blank = /^(?:\s|--|\/\*)/;

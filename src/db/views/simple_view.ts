import {
  blankToken,
  ddlTokens,
  nameOfToken,
  splitAtCommas,
} from "../../sql/statements/normal_sql.ts";

import { isSameName } from "../../sql/fragment.ts";

/** A view that shows each row of one table at most once: `SELECT … FROM table WHERE …`. */
export interface SimpleView {
  readonly table: ViewedTable;
  readonly columns: readonly ViewedColumn[];
}

export interface ViewedTable {
  readonly schema: string | null;
  readonly name: string;
}

export type ViewedColumn =
  | { readonly kind: "column"; readonly name: string }
  | { readonly kind: "all" }
  | { readonly kind: "expression" };

/** Parses a view's definition in SQL of any engine. Returns null unless it is certainly simple. */
export function parseSimpleView(definition: string): SimpleView | null {
  const tokens = ddlTokens(definition).filter((token) => !blankToken.test(token));
  const begin = selectOf(tokens);
  const clauses = begin === null ? null : clausesOf(tokens.slice(begin));
  if (clauses === null) return null;
  const from = tableOf(clauses.from);
  if (from === null) return null;
  const { table, alias } = from;
  return { table, columns: splitAtCommas(clauses.list).map((item) => columnOf(item, alias)) };
}

function selectOf(tokens: readonly string[]): number | null {
  let at = 0;
  if (isWord(tokens[0], "CREATE")) {
    at = tokens.findIndex((token) => isWord(token, "AS"));
    // `CREATE VIEW name (columns)` is rare, so this parser does not support it.
    if (at < 0 || tokens.slice(0, at).includes("(")) return null;
    at++;
  }
  return isWord(tokens[at], "SELECT") ? at + 1 : null;
}

function clausesOf(tokens: readonly string[]) {
  const list: string[] = [];
  const from: string[] = [];
  let clause: "list" | "from" | "rest" = "list";
  let depth = 0;
  for (const token of tokens) {
    if (token === "(") depth++;
    if (token === ")") depth--;
    if (depth === 0 && otherClauses.has(token.toUpperCase())) return null;
    if (depth === 0 && clause === "list" && isWord(token, "FROM")) clause = "from";
    else if (depth === 0 && clause === "from" && isWord(token, "WHERE", "ORDER")) clause = "rest";
    else if (clause === "list") list.push(token);
    else if (clause === "from" && token !== ";") from.push(token);
  }
  return clause === "list" || depth !== 0 ? null : { list, from };
}

/** With one of these clauses, a view can show a row twice, or show different rows at each read. */
const otherClauses: ReadonlySet<string> = new Set([
  ...["DISTINCT", "GROUP", "HAVING", "WINDOW", "LIMIT", "OFFSET", "FETCH", "FOR", "VALUES"],
  ...["UNION", "INTERSECT", "EXCEPT", "JOIN"],
]);

/** Parses `[schema.]table [[AS] alias]`. Returns null for a second table or a function. */
function tableOf(
  tokens: readonly string[],
): { readonly table: ViewedTable; readonly alias: string } | null {
  const names: string[] = [];
  const rest = [...tokens];
  do {
    const name = nameOf(rest.shift());
    if (name === null) return null;
    names.push(name);
  } while (rest[0] === "." && rest.shift() !== undefined && names.length < 3);
  if (isWord(rest[0], "AS")) rest.shift();
  const alias = rest.length === 0 ? null : nameOf(rest.shift());
  const [name, schema = null, more] = names.toReversed();
  if (name === undefined || more !== undefined || rest.length > 0) return null;
  return { table: { schema, name }, alias: alias ?? name };
}

function columnOf(item: readonly string[], alias: string): ViewedColumn {
  const rest = [...item];
  if (rest[1] === "." && isSameName(nameOf(rest[0]) ?? "", alias)) rest.splice(0, 2);
  if (rest.length === 1 && rest[0] === "*") return { kind: "all" };
  const name = nameOf(rest.shift());
  if (isWord(rest[0], "AS")) rest.shift();
  const isPlain = rest.length === 0 || (rest.length === 1 && nameOf(rest[0]) !== null);
  return name === null || !isPlain ? { kind: "expression" } : { kind: "column", name };
}

function nameOf(token = ""): string | null {
  return /^["`[\p{L}_]/u.test(token) ? nameOfToken(token) : null;
}

function isWord(token: string | undefined, ...words: readonly string[]): boolean {
  return token !== undefined && words.includes(token.toUpperCase());
}

import { quoteText } from "../fragment.ts";
import { closingParenthesis, ddlTokens, nameOfToken, splitAtCommas } from "./normal_sql.ts";

/**
 * Parses a CREATE INDEX statement of SQLite. A word in double quotes that names no column is a
 * string in SQLite, but an error elsewhere, so this function puts it into single quotes. Returns
 * the expressions of the index without collations and directions, and the `columns` whose names
 * they contain.
 */
export function parseCreateIndex(
  statement: string,
  table: string,
  columns: readonly string[],
) {
  const spelled = new Map(columns.map((name) => [name.toLowerCase(), name]));
  const named = new Set<string>();
  const all = ddlTokens(statement);
  const open = all.indexOf("(");
  const close = closingParenthesis(all, open);
  const textOf = (tokens: readonly string[]) => tokens.map(resolved).join("").trim();
  const parts = splitAtCommas(all.slice(open + 1, close)).map(textOf);
  const where = textOf(all.slice(close + 1)).replace(/^WHERE\b/i, "").trim();
  return {
    parts: parts.map((text) => text.replace(direction, "").replace(collation, "")),
    where: where === "" ? null : where,
    columns: [...named],
  };

  function resolved(token: string): string {
    if (comment.test(token)) return " ";
    const word = nameOfToken(token);
    const column = spelled.get(word.toLowerCase());
    if (column !== undefined && !token.startsWith("'")) named.add(column);
    const isText = token.startsWith('"') && column === undefined &&
      word.toLowerCase() !== table.toLowerCase();
    return isText ? quoteText(word) : token;
  }
}

const comment = /^(?:--|\/\*)/;
const direction = /\s+(?:ASC|DESC)$/i;
const collation = /\s+COLLATE\s*(?:\w+|["`[][^\]"`]*["`\]])$/i;

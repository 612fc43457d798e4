import { quoteText } from "../fragment.ts";
import {
  blankToken,
  closingParenthesis,
  ddlTokens,
  nameOfToken,
  splitAtCommas,
} from "./normal_sql.ts";

/**
 * Parses a CREATE INDEX statement of SQLite. SQLite reads a word in double quotes that names no
 * column as a string, so this function puts it into single quotes. The returned expressions lack
 * collations and directions. `columns` are the columns whose names they contain.
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
  const parts = splitAtCommas(all.slice(open + 1, close)).map(expressionOf).map(textOf);
  const where = textOf(all.slice(close + 1)).replace(/^WHERE\b/i, "").trim();
  return {
    parts,
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

/** Returns the tokens of a part of an index without its collation and direction. */
function expressionOf(tokens: readonly string[]): readonly string[] {
  const places = [...tokens.keys()].filter((place) => !blankToken.test(tokens[place] ?? ""));
  const isWord = (at: number, words: RegExp) => words.test(tokens[places[at] ?? -1] ?? "");
  let { length } = places;
  if (length > 1 && isWord(length - 1, /^(?:ASC|DESC)$/i)) length--;
  if (length > 2 && isWord(length - 2, /^COLLATE$/i)) length -= 2;
  return tokens.slice(0, (places[length - 1] ?? -1) + 1);
}

import { quoteText } from "../fragment.ts";
import { ddlTokenPattern, unquoteIdentifier } from "./normal_sql.ts";

/** The parts of an index that only its CREATE INDEX statement contains. */
export interface ParsedIndex {
  /** The expressions between the parentheses of the index, without collations and directions. */
  readonly parts: readonly string[];
  /** The condition of a partial index, or null if the index is not partial. */
  readonly where: string | null;
  /** The columns whose names occur in `parts`, in the spelling of `columns`. */
  readonly columns: readonly string[];
}

/**
 * Parses a CREATE INDEX statement, as SQLite stores it. There, SQLite reads a word in double quotes
 * that is not a column as a string. In other statements such a word is an error, so this function
 * writes it as a string.
 */
export function parseCreateIndex(
  statement: string,
  table: string,
  columns: readonly string[],
): ParsedIndex {
  const spelled = new Map(columns.map((name) => [name.toLowerCase(), name]));
  const named = new Set<string>();
  const all = [...statement.matchAll(ddlTokenPattern)].map(([token]) => token);
  const parts = [""];
  let at = all.indexOf("(") + 1;
  for (let depth = 1; at < all.length; at++) {
    const token = all[at] ?? "";
    if (token === "(") depth++;
    if (token === ")" && --depth === 0) break;
    if (token === "," && depth === 1) parts.push("");
    else parts[parts.length - 1] += resolved(token);
  }
  const where = all.slice(at + 1).map(resolved).join("").trim().replace(/^WHERE\b/i, "").trim();
  return {
    parts: parts.map((text) => text.trim().replace(direction, "").replace(collation, "")),
    where: where === "" ? null : where,
    columns: [...named],
  };

  function resolved(token: string): string {
    if (comment.test(token)) return " ";
    const word = /^["`[]/.test(token) ? unquoteIdentifier(token) : token;
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

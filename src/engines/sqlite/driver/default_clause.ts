import { quoteText } from "../../../sql/fragment.ts";
/**
 * Returns a DEFAULT clause of a SQLite column as an expression with the same meaning elsewhere. In
 * a declaration, a single word is a string, with or without quotes. In other statements, it would
 * be a column name.
 */
export function repeatableDefault(clause: string | null): string | null {
  if (clause === null || keywords.test(clause) || !loneWord.test(clause)) return clause;
  const last = clause.at(-1) ?? "";
  const word = /["`\]]/.test(last) ? clause.slice(1, -1).replaceAll(last + last, last) : clause;
  return quoteText(word);
}

const keywords = /^(?:null|true|false|current_(?:date|time|timestamp))$/i;
const loneWord =
  /^(?:"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[A-Za-z_\u0080-\u{10ffff}][\w$\u0080-\u{10ffff}]*)$/u;

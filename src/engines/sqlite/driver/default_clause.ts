import { quoteText } from "../../../sql/fragment.ts";
/** Quotes a lone word, which means a string in a DEFAULT clause, but a column in other SQL. */
export function repeatableDefault(clause: string | null): string | null {
  if (clause === null || keywords.test(clause) || !loneWord.test(clause)) return clause;
  const last = clause.at(-1) ?? "";
  const word = /["`\]]/.test(last) ? clause.slice(1, -1).replaceAll(last + last, last) : clause;
  return quoteText(word);
}

const keywords = /^(?:null|true|false|current_(?:date|time|timestamp))$/i;
const loneWord =
  /^(?:"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[A-Za-z_\u0080-\u{10ffff}][\w$\u0080-\u{10ffff}]*)$/u;

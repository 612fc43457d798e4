/** The pattern of the tokens in DDL: comments, quoted text, words, single characters. */
export const ddlTokenPattern: RegExp =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[\w$\u0080-\u{10ffff}]+|[^]/gu;

/** Returns the name in a quoted identifier. */
export function unquoteIdentifier(token: string): string {
  const last = token.at(-1) ?? "";
  return token.slice(1, -1).replaceAll(last + last, last);
}

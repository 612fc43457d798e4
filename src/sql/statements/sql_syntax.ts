/** The SQL syntax of an engine, for functions that compare expressions and split scripts. */
export interface SqlSyntax {
  /** Matches each token of an expression. */
  readonly tokens: RegExp;
  /** Returns the words of an expression except for words that the engine's catalog adds. */
  bareWords(words: readonly string[]): readonly string[];
  /** A sticky pattern that matches the token of a script at `lastIndex`. */
  readonly scriptTokens: RegExp;
  /**
   * Returns the end of a token if the pattern matches only its beginning. Returns -1 if the token
   * is not closed, and null if the pattern matched the whole token.
   */
  endOf(script: string, at: number, token: string): number | null;
}

/** The pattern of the tokens in DDL: comments, quoted text, words, single characters. */
export const ddlTokenPattern: RegExp =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[\w$\u0080-\u{10ffff}]+|[^]/gu;

export function unquoteIdentifier(token: string): string {
  const last = token.at(-1) ?? "";
  return token.slice(1, -1).replaceAll(last + last, last);
}

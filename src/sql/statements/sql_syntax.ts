/** The SQL syntax of an engine, for functions that compare expressions and split scripts. */
export interface SqlSyntax {
  /** Matches each token of an expression. */
  readonly tokens: RegExp;
  /** Returns the words of an expression without those that the engine's catalog adds. */
  bareWords(words: readonly string[]): readonly string[];
  /** A sticky pattern that matches the token at `lastIndex` of a script. */
  readonly scriptTokens: RegExp;
  /**
   * Returns the end of a token of which `scriptTokens` matches only the beginning. Returns -1 if
   * nothing closes the token, and null if the pattern matched the whole token.
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

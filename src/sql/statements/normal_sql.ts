/**
 * Returns an SQL expression in a form for comparisons: without blanks, comments, outer parentheses,
 * the case of names, and the catalog's additions such as casts. Expressions of equal form are
 * equivalent. Expressions of different forms can be equivalent, too.
 */
export function normalizeSql(expression: string, syntax: SqlSyntax): string {
  let words = syntax.bareWords(wordsOf(expression, syntax.tokens));
  while (isWrapped(words)) words = words.slice(1, -1);
  return words.join(" ");
}

/** Returns all names in an SQL expression in lower case, such as columns and functions. */
export function namesInSql(expression: string): readonly string[] {
  return wordsOf(expression, standardSqlTokenPattern).filter((word) => /^[^'\d]/.test(word));
}

function wordsOf(expression: string, tokens: RegExp): readonly string[] {
  return [...expression.matchAll(tokens)].map(([token]) => token)
    .filter((token) => !/^(?:\s|--|\/\*)/.test(token))
    .map((token) => {
      if (token.startsWith("'")) return token;
      return (/^(?:"|[`[].)/.test(token) ? unquoteIdentifier(token) : token).toLowerCase();
    });
}

/** The pattern of an expression's tokens. Square brackets are array syntax, not quotes. */
export const standardSqlTokenPattern: RegExp =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|::|[\w$\u0080-\u{10ffff}]+|[^]/gu;

function isWrapped(words: readonly string[]): boolean {
  if (words[0] !== "(") return false;
  let depth = 0;
  const end = words.findIndex((word) => {
    if (word === "(") depth++;
    return word === ")" && --depth === 0;
  });
  return end === words.length - 1;
}

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

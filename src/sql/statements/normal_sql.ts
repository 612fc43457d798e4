import { type SqlSyntax, unquoteIdentifier } from "./sql_syntax.ts";

/**
 * Returns an SQL expression in a form for comparisons: without blanks, comments, outer parentheses,
 * the case of names, and the catalog's additions such as casts. Expressions of equal form are
 * equivalent. Those of different forms can be equivalent, too.
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

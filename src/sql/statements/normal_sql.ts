/** Normalizes an expression: equal results mean equivalent expressions, but not vice versa. */
export function normalizeSql(expression: string, syntax: SqlSyntax): string {
  const words = syntax.bareWords(wordsOf(expression, syntax.tokens));
  const outer = outerParentheses(words);
  return words.slice(outer, words.length - outer).join(" ");
}

export function namesInSql(expression: string): readonly string[] {
  return wordsOf(expression, standardSqlTokenPattern).filter((word) => /^[^'\d]/.test(word));
}

function wordsOf(expression: string, tokens: RegExp): readonly string[] {
  return [...expression.matchAll(tokens)].flatMap(([token]) => {
    if (blankToken.test(token)) return [];
    return token.startsWith("'") ? token : nameOfToken(token).toLowerCase();
  });
}

/** The pattern of an expression's tokens. Square brackets are array syntax, not quotes. */
export const standardSqlTokenPattern: RegExp =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|::|[\w$\u0080-\u{10ffff}]+|[^]/gu;

function outerParentheses(words: readonly string[]): number {
  const open: number[] = [];
  const pairs = new Map<number, number | undefined>();
  words.forEach((word, at) => {
    if (word === "(") open.push(at);
    if (word === ")") pairs.set(at, open.pop());
  });
  let outer = 0;
  while (2 * outer < words.length && pairs.get(words.length - 1 - outer) === outer) outer++;
  return outer;
}

/** The SQL syntax of an engine, for functions that compare expressions and split scripts. */
export interface SqlSyntax {
  /** Matches each token of an expression. */
  readonly tokens: RegExp;
  /** Returns the words of an expression without those that the engine's catalog adds. */
  bareWords(words: readonly string[]): readonly string[];
  /** A sticky pattern that matches the token at `lastIndex` of a script. */
  readonly scriptTokens: RegExp;
  /** Returns the end of a partly matched token, -1 if it is unclosed, null if it matched wholly. */
  endOf(script: string, at: number, token: string): number | null;
}

export const blankToken = /^(?:\s|--|\/\*)/;

export const ddlTokenPattern: RegExp =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*(?:\]|$)|[\w$\u0080-\u{10ffff}]+|[^]/gu;

export function ddlTokens(statement: string): readonly string[] {
  return [...statement.matchAll(ddlTokenPattern)].map(([token]) => token);
}

export function closingParenthesis(tokens: readonly string[], open: number): number {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    if (tokens[at] === "(") depth++;
    if (tokens[at] === ")" && --depth === 0) return at;
  }
  return tokens.length;
}

export function splitAtCommas(tokens: readonly string[]): readonly (readonly string[])[] {
  const items: string[][] = [[]];
  let depth = 0;
  for (const token of tokens) {
    if (token === "(") depth++;
    if (token === ")") depth--;
    if (token === "," && depth === 0) items.push([]);
    else items.at(-1)?.push(token);
  }
  return items;
}

export function nameOfToken(token: string, quotes: RegExp = /^["`[]./): string {
  const last = token.at(-1) ?? "";
  return quotes.test(token) ? token.slice(1, -1).replaceAll(last + last, last) : token;
}

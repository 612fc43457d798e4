import { tokens, unquoted } from "../../engines/sqlite/sql/parse_create_index.ts";

/** The engines whose SQL is compared. */
export type SqlEngine = "sqlite" | "postgres";

/**
 * A form of an SQL expression in which two are compared: without blanks, comments, parentheses
 * around the whole of it, the case of names, and in Postgres the casts that its catalogue writes.
 * Expressions of the same form mean the same; two of different forms may do so, too.
 */
export function normalSql(expression: string, engine: SqlEngine): string {
  let words = wordsOf(expression, engine);
  if (engine === "postgres") words = withBareComparisons(withoutCasts(words));
  while (isWrapped(words)) words = words.slice(1, -1);
  return words.join(" ");
}

/** The names in an SQL expression, of columns among others, in lower case. */
export function sqlNames(expression: string): readonly string[] {
  return wordsOf(expression, "postgres").filter((word) => /^[^'\d]/.test(word));
}

function wordsOf(expression: string, engine: SqlEngine): readonly string[] {
  return [...expression.matchAll(engine === "sqlite" ? tokens : postgresTokens)]
    .map(([token]) => token)
    .filter((token) => !/^(?:\s|--|\/\*)/.test(token))
    .map((token) => {
      if (token.startsWith("'")) return token;
      return (/^(?:"|[`[].)/.test(token) ? unquoted(token) : token).toLowerCase();
    });
}

/** In Postgres brackets are those of arrays, and quote nothing. */
const postgresTokens =
  /--[^\n]*|\/\*[^]*?(?:\*\/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|::|[\w$\u0080-\u{10ffff}]+|[^]/gu;

function withoutCasts(words: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let at = 0; at < words.length; at++) {
    if (words[at] !== "::") {
      kept.push(words[at] ?? "");
      continue;
    }
    at++;
    const rest = words.slice(at + 1).join(" ");
    const [more = ""] = typeTail.exec(rest) ?? [];
    at += more.split(" ").filter((word) => word !== "").length;
  }
  return kept;
}

/** What follows the first word of a type. */
const typeTail =
  /^(?:varying|precision)?(?: ?\( \d+(?: , \d+)? \))?(?: ?(?:with|without) time zone)?(?: ?\[ \])*/;

/** `(a >= 1) AND (a <= 9)` → `a >= 1 AND a <= 9`: a comparison binds more than what joins it. */
function withBareComparisons(words: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const end = words[at] === "(" ? words.indexOf(")", at) : -1;
    const inner = words.slice(at + 1, end);
    const isJoined = joins.has(kept.at(-1) ?? "(") && joins.has(words[end + 1] ?? ")");
    const isComparison = inner.length > 2 && inner.length < 5 &&
      inner.slice(1, -1).every((word) => /^[<>=!]$/.test(word)) && !inner.includes("(");
    if (end > 0 && isJoined && isComparison) {
      kept.push(...inner);
      at = end;
    } else kept.push(words[at] ?? "");
  }
  return kept;
}

const joins: ReadonlySet<string> = new Set(["and", "or", "(", ")"]);

/** Returns true if the first parenthesis closes at the end. */
function isWrapped(words: readonly string[]): boolean {
  if (words[0] !== "(") return false;
  let depth = 0;
  const end = words.findIndex((word) => {
    if (word === "(") depth++;
    return word === ")" && --depth === 0;
  });
  return end === words.length - 1;
}

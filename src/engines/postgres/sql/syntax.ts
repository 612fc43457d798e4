import { type SqlSyntax, standardSqlTokenPattern } from "../../../sql/statements/normal_sql.ts";

export const postgresSyntax: SqlSyntax = {
  tokens: standardSqlTokenPattern,
  // Removes the casts, and the parentheses around comparisons, that the Postgres catalog adds.
  bareWords: (words) => withBareComparisons(withoutCasts(words)),
  scriptTokens:
    /\s+|--[^\n]*|\/\*|[eE]'(?:[^'\\]|''|\\[^])*'?|'(?:[^']|'')*'?|"(?:[^"]|"")*"?|\$(?:[\p{L}_][\p{L}\d_]*)?\$|[\p{L}\d_][\p{L}\d_$]*|[^]/uy,
  endOf(script, at, token) {
    if (token.startsWith("/*")) return endOfNestedComment(script, at);
    const [tag] = /^\$(?:[\p{L}_][\p{L}\d_]*)?\$/u.exec(token) ?? [];
    if (tag === undefined) return null;
    const end = script.indexOf(tag, at + tag.length);
    return end < 0 ? -1 : end + tag.length;
  },
};

function endOfNestedComment(script: string, at: number): number {
  let depth = 0;
  for (const match of script.slice(at).matchAll(/\/\*|\*\//g)) {
    depth += match[0] === "/*" ? 1 : -1;
    if (depth === 0) return at + match.index + 2;
  }
  return -1;
}

function withoutCasts(words: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let at = 0; at < words.length; at++) {
    if (words[at] !== "::") {
      kept.push(words[at] ?? "");
      continue;
    }
    at++;
    const rest = words.slice(at + 1, at + 1 + wordsOfType).join(" ");
    const [more = ""] = typeTail.exec(rest) ?? [];
    at += more.split(" ").filter((word) => word !== "").length;
  }
  return kept;
}

/** The maximum number of words after a type's first word: a precision and six dimensions. */
const wordsOfType = 24;

const typeTail =
  /^(?:varying|precision)?(?: ?\( \d+(?: , \d+)? \))?(?: ?(?:with|without) time zone)?(?: ?\[ \])*/;

/** Converts `(a >= 1) AND (a <= 9)` to `a >= 1 AND a <= 9`. A comparison binds tighter than AND. */
function withBareComparisons(words: readonly string[]): readonly string[] {
  const kept: string[] = [];
  for (let at = 0; at < words.length; at++) {
    // `a < 1` has three words, and `a >= 1` has four.
    const length = words[at] === "(" ? words.slice(at + 1, at + 6).indexOf(")") : -1;
    const end = at + 1 + length;
    const inner = words.slice(at + 1, Math.max(end, at + 1));
    const isJoined = joins.has(kept.at(-1) ?? "(") && joins.has(words[end + 1] ?? ")");
    const isComparison = length > 2 &&
      inner.slice(1, -1).every((word) => /^[<>=!]$/.test(word)) && !inner.includes("(");
    if (isJoined && isComparison) {
      kept.push(...inner);
      at = end;
    } else kept.push(words[at] ?? "");
  }
  return kept;
}

const joins: ReadonlySet<string> = new Set(["and", "or", "(", ")"]);

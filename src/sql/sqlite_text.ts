import { afterPrefix, countCodePoints } from "./code_points.ts";
import type { TextDialect } from "./dialect.ts";
import { fold, isAscii } from "./fold.ts";
import { type Fragment, rawSql, sql } from "./fragment.ts";

/**
 * The SQL function that every SQLite driver registers on each of its connections, deterministic,
 * as `fold` of `fold.ts`; NULL gives NULL. SQLite itself folds ASCII only.
 */
export const foldFunctionName = "service_fold";

/**
 * The text operators of SQLite. Its LIKE ignores the case of ASCII, so that it serves the folded
 * operators, and GLOB serves the exact ones.
 */
export const sqliteText: TextDialect = {
  contains,
  startsWith,
  endsWith,
  like,
  equalsFolded: (operand, argument) =>
    isAscii(argument)
      ? sql`${operand} COLLATE NOCASE = ${argument}`
      : sql`${folded(operand)} = ${fold(argument)}`,
  containsFolded: (operand, argument) =>
    isAscii(argument)
      ? likeIgnoringAsciiCase(operand, `%${escapeLike(argument)}%`)
      : contains(folded(operand), fold(argument)),
  startsWithFolded: (operand, argument) =>
    isAscii(argument)
      ? likeIgnoringAsciiCase(operand, `${escapeLike(argument)}%`)
      : startsWith(folded(operand), fold(argument)),
  endsWithFolded: (operand, argument) =>
    isAscii(argument)
      ? likeIgnoringAsciiCase(operand, `%${escapeLike(argument)}`)
      : endsWith(folded(operand), fold(argument)),
  likeFolded: (operand, pattern) =>
    isAscii(pattern)
      ? likeIgnoringAsciiCase(operand, pattern)
      : like(folded(operand), fold(pattern)),
  length: (operand) => sql`length(${operand})`,
};

function contains(operand: Fragment, argument: string): Fragment {
  return sql`instr(${operand}, ${argument}) > 0`;
}

/** A range, so that an index serves. */
function startsWith(operand: Fragment, argument: string): Fragment {
  const from = sql`${operand} >= ${argument}`;
  const end = afterPrefix(argument);
  return end === null ? from : sql`(${from} AND ${operand} < ${end})`;
}

function endsWith(operand: Fragment, argument: string): Fragment {
  // substr(v, 0) is the whole text, not its empty end.
  if (argument === "") return sql`${operand} IS NOT NULL`;
  return sql`substr(${operand}, ${-countCodePoints(argument)}) = ${argument}`;
}

function like(operand: Fragment, pattern: string): Fragment {
  return sql`${operand} GLOB ${toGlob(pattern)}`;
}

function likeIgnoringAsciiCase(operand: Fragment, pattern: string): Fragment {
  return sql`${operand} LIKE ${pattern} ESCAPE '\\'`;
}

function folded(operand: Fragment): Fragment {
  return sql`${rawSql(foldFunctionName)}(${operand})`;
}

/** `%` → `*`, `_` → `?`, `\x` → x; what GLOB takes as a wildcard stands in brackets. */
function toGlob(pattern: string): string {
  return pattern.replace(/\\([^])|[%_*?[]/g, (part, escaped: string | undefined) => {
    if (part === "%") return "*";
    if (part === "_") return "?";
    const literal = escaped ?? part;
    return literal === "*" || literal === "?" || literal === "[" ? `[${literal}]` : literal;
  });
}

function escapeLike(text: string): string {
  return text.replace(/[%_\\]/g, "\\$&");
}

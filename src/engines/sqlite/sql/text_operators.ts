import { countCodePoints, upperBoundOfPrefix } from "../../../sql/code_points.ts";
import type { TextDialect } from "../../../sql/dialect.ts";
import { fold, isAscii } from "../../../sql/fold.ts";
import { type Fragment, rawSql, sql } from "../../../sql/fragment.ts";
import { parsePlainPattern } from "../../../sql/plain_pattern.ts";
import { maxPartLength } from "../../../sql/wildcard_pattern.ts";
import { textTimeCheck } from "./time_check.ts";

/** The SQL function of case folding (`fold`), because SQLite itself folds only ASCII. */
export const foldFunctionName = "service_fold";

/** The SQL function for LIKE with long parts: GLOB is slow for them, and cannot be aborted. */
export const likeFunctionName = "service_like";

/** The text operators, without LIKE, which can block the process for seconds on a long literal. */
export const sqliteText: TextDialect = {
  contains: (operand, argument) => checked(operand, contains(operand, argument)),
  startsWith,
  endsWith: (operand, argument) => checked(operand, endsWith(operand, argument)),
  like: (operand, pattern) => {
    const plain = parsePlainPattern(pattern);
    return plain?.operator === "startsWith"
      ? startsWith(operand, plain.text)
      : checked(operand, like(operand, pattern));
  },
  equalsFolded: (operand, argument) =>
    isAscii(argument)
      ? sql`${operand} COLLATE NOCASE = ${argument}`
      : checked(operand, sql`${folded(operand, argument)} = ${fold(argument)}`),
  containsFolded: (operand, argument) =>
    checked(operand, contains(folded(operand, argument), fold(argument))),
  startsWithFolded: (operand, argument) =>
    checked(operand, startsWith(folded(operand, argument), fold(argument))),
  endsWithFolded: (operand, argument) =>
    checked(operand, endsWith(folded(operand, argument), fold(argument))),
  likeFolded: (operand, pattern) => checked(operand, like(folded(operand, pattern), fold(pattern))),
  length: (operand) => sql`length(${operand})`,
};

/** Adds a time check before the condition, because a row can have many long strings to compare. */
function checked(operand: Fragment, condition: Fragment): Fragment {
  return sql`(${textTimeCheck(operand)} AND ${condition})`;
}

function like(operand: Fragment, pattern: string): Fragment {
  const plain = parsePlainPattern(pattern);
  if (plain === null) return matches(operand, pattern);
  return { contains, startsWith, endsWith }[plain.operator](operand, plain.text);
}

function contains(operand: Fragment, argument: string): Fragment {
  return sql`instr(${operand}, ${argument}) > 0`;
}

/** Uses SQLite's GLOB for patterns with short parts, for which GLOB is ten times as fast. */
function matches(operand: Fragment, pattern: string): Fragment {
  return maxPartLength(pattern) > maxGlobPart
    ? sql`${rawSql(likeFunctionName)}(CAST(${operand} AS TEXT), ${pattern})`
    : sql`${operand} GLOB ${toGlob(pattern)}`;
}

const maxGlobPart = 12;

/** Tests a prefix as a range of strings, for which the database can use an index. */
function startsWith(operand: Fragment, argument: string): Fragment {
  const from = sql`${operand} >= ${argument}`;
  const end = upperBoundOfPrefix(argument);
  return end === null ? from : sql`(${from} AND ${operand} < ${end})`;
}

function endsWith(operand: Fragment, argument: string): Fragment {
  // For an empty argument, substr(v, 0) would return the whole string.
  if (argument === "") return contains(operand, "");
  return sql`substr(${operand}, ${-countCodePoints(argument)}) = ${argument}`;
}

/** Folds the operand. For an ASCII argument, it is enough to fold ASCII, which lower() does. */
function folded(operand: Fragment, argument: string): Fragment {
  return isAscii(argument) ? sql`lower(${operand})` : sql`${rawSql(foldFunctionName)}(${operand})`;
}

/** Converts `%` to `*`, `_` to `?`, and `\x` to x. GLOB's own wildcards are put in brackets. */
function toGlob(pattern: string): string {
  return pattern.replace(/\\([^])|[%_*?[]/g, (part, escaped: string | undefined) => {
    if (part === "%") return "*";
    if (part === "_") return "?";
    const literal = escaped ?? part;
    return literal === "*" || literal === "?" || literal === "[" ? `[${literal}]` : literal;
  });
}

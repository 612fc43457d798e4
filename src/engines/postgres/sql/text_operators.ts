import { countCodePoints, upperBoundOfPrefix } from "../../../sql/code_points.ts";
import type { TextDialect } from "../../../sql/dialect.ts";
import { charactersFoldingTo, fold, isAscii } from "../../../sql/fold.ts";
import { type Fragment, sql } from "../../../sql/fragment.ts";

/** The text operators of Postgres. With the collation "C", they ignore the server's locale. */
export const postgresText: TextDialect = {
  contains,
  startsWith,
  endsWith,
  like,
  equalsFolded: (operand, argument) => sql`${folded(operand, argument)} = ${fold(argument)}`,
  containsFolded: (operand, argument) => contains(folded(operand, argument), fold(argument)),
  startsWithFolded: (operand, argument) => startsWith(folded(operand, argument), fold(argument)),
  endsWithFolded: (operand, argument) => endsWith(folded(operand, argument), fold(argument)),
  likeFolded: (operand, pattern) => like(folded(operand, pattern), fold(pattern)),
  length: (operand) => sql`char_length(${operand})`,
};

function contains(operand: Fragment, argument: string): Fragment {
  return sql`strpos(${operand} COLLATE "C", ${argument}) > 0`;
}

/** Tests a prefix as a range of strings, for which the database can use an index. */
function startsWith(operand: Fragment, argument: string): Fragment {
  const from = sql`${operand} COLLATE "C" >= ${argument}`;
  const end = upperBoundOfPrefix(argument);
  return end === null ? from : sql`(${from} AND ${operand} COLLATE "C" < ${end})`;
}

function endsWith(operand: Fragment, argument: string): Fragment {
  const length = countCodePoints(argument);
  return sql`right(${operand} COLLATE "C", ${length}) = ${argument}`;
}

function like(operand: Fragment, pattern: string): Fragment {
  return sql`${operand} COLLATE "C" LIKE ${pattern}`;
}

/** Folds only ASCII and the characters of `argument`, so that all servers return equal results. */
function folded(operand: Fragment, argument: string): Fragment {
  const lower = sql`lower(${operand} COLLATE "C")`;
  if (isAscii(argument)) return lower;
  let from = "";
  let to = "";
  for (const character of new Set(fold(argument))) {
    if (isAscii(character)) continue;
    for (const other of charactersFoldingTo(character)) {
      from += other;
      to += character;
    }
  }
  return from === "" ? lower : sql`translate(${lower}, ${from}, ${to})`;
}

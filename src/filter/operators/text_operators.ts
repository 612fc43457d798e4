import { countCodePoints } from "../../sql/code_points.ts";
import type { Dialect } from "../../sql/dialect.ts";
import { fold } from "../../sql/fold.ts";
import { type Fragment, rawSql, sql } from "../../sql/fragment.ts";
import { matchesLike, patternWork } from "./like_pattern.ts";
import type { Operator } from "./operator.ts";

interface TextTest {
  readonly symbols: readonly [string, ...string[]];
  readonly takes: "text" | "pattern";
  work(argument: string): number;
  test(dialect: Dialect, operand: Fragment, argument: string): Fragment;
  holds(value: string, argument: string): boolean;
}

/** A string search examines each character once. */
const search = () => 1;
/** A case-insensitive search first creates a folded copy of the string. */
const foldedSearch = () => 1 + foldWork;
const foldWork = 4;

const ofText: Pick<Operator, "nullMeans" | "testsNull" | "accepts"> = {
  nullMeans: null,
  testsNull: false,
  accepts: ({ kind }) => kind === "text",
};

const like: TextTest = {
  symbols: ["%=", "=like="],
  takes: "pattern",
  work: patternWork,
  test: ({ text }, operand, pattern) => text.like(operand, pattern),
  holds: matchesLike,
};

const likeFolded: TextTest = {
  symbols: ["=ilike="],
  takes: "pattern",
  work: (pattern) => foldWork + patternWork(pattern),
  test: ({ text }, operand, pattern) => text.likeFolded(operand, pattern),
  holds: (value, pattern) => matchesLike(fold(value), fold(pattern)),
};

const equalFolded: TextTest = {
  symbols: ["=ieq="],
  takes: "text",
  work: foldedSearch,
  test: ({ text }, operand, argument) => text.equalsFolded(operand, argument),
  holds: (value, argument) => fold(value) === fold(argument),
};

export const likeOperator: Operator = textOperator(like);

export const textOperators: readonly Operator[] = [
  likeOperator,
  negated(["!%=", "=nlike="], like),
  textOperator(likeFolded),
  negated(["=nilike="], likeFolded),
  textOperator(equalFolded),
  negated(["=ine="], equalFolded),
  ...searchOperators("contains", (value, argument) => value.includes(argument)),
  ...searchOperators("startsWith", (value, argument) => value.startsWith(argument)),
  ...searchOperators("endsWith", (value, argument) => value.endsWith(argument)),
  lengthOperator("=length=", "=", (length, count) => length === count),
  lengthOperator("=minlength=", ">=", (length, count) => length >= count),
  lengthOperator("=maxlength=", "<=", (length, count) => length <= count),
];

function textOperator({ symbols, takes, work, test, holds }: TextTest): Operator {
  return {
    ...ofText,
    symbols,
    takes,
    toSql: (column, [argument], dialect) =>
      test(dialect, dialect.textOperand(column), String(argument)),
    work: ([argument]) => work(String(argument)),
    matches: (value, [argument]) => holds(String(value), String(argument)),
  };
}

function negated(symbols: TextTest["symbols"], { takes, work, test, holds }: TextTest): Operator {
  return textOperator({
    symbols,
    takes,
    work,
    test: (dialect, operand, argument) => sql`NOT (${test(dialect, operand, argument)})`,
    holds: (value, argument) => !holds(value, argument),
  });
}

function searchOperators(
  name: "contains" | "startsWith" | "endsWith",
  holds: TextTest["holds"],
): readonly Operator[] {
  const symbol = name.toLowerCase();
  const takes = "text";
  return [
    textOperator({
      ...{ symbols: [`=${symbol}=`], takes, work: search, holds },
      test: ({ text }, operand, argument) => text[name](operand, argument),
    }),
    textOperator({
      ...{ symbols: [`=i${symbol}=`], takes, work: foldedSearch },
      test: ({ text }, operand, argument) => text[`${name}Folded`](operand, argument),
      holds: (value, argument) => holds(fold(value), fold(argument)),
    }),
  ];
}

function lengthOperator(
  symbol: string,
  sign: string,
  holds: (length: number, count: number) => boolean,
): Operator {
  return {
    ...ofText,
    symbols: [symbol],
    takes: "count",
    work: search,
    toSql: (column, [count], dialect) =>
      sql`${dialect.text.length(dialect.textOperand(column))} ${rawSql(sign)} ${Number(count)}`,
    matches: (value, [count]) => holds(countCodePoints(String(value)), Number(count)),
  };
}

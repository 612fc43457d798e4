import type { DatabaseError } from "../../db/database_error.ts";
import { findRefused, type TypedValue } from "../../db/rejected_value.ts";
import { excerptOf, filterError } from "../../filter/syntax/filter_error.ts";
import type { Literal } from "../../filter/syntax/filter_syntax.ts";
import { rawSql } from "../../sql/fragment.ts";
import type { Problem } from "../../problem/problem.ts";
import type { Resource } from "../model/resource.ts";
import { comparisonsOf, type PositionedComparison } from "./user_filter.ts";

/** Returns a problem for the first value that the database rejects for its column's type. */
export async function refusedLiteralProblem(
  text: string | undefined,
  resource: Resource,
): Promise<Problem | null> {
  if (text === undefined) return null;
  const literals = comparisonsOf(text, resource).flatMap((one) => literalsOf(one, resource));
  const refused = await findRefused(literals, resource.driver);
  return refused && problemOf(refused.value, refused.error);
}

/** A value in a filter that may be invalid for its column's type in the database, e.g. `inet`. */
interface TypedLiteral extends TypedValue {
  readonly literal: Literal | undefined;
}

function literalsOf(
  { syntax, comparison }: PositionedComparison,
  { driver: { dialect } }: Resource,
): readonly TypedLiteral[] {
  const { column, operator, values } = comparison;
  const { takes } = operator;
  if (takes === "query") {
    const read = operator.toSql(column, values, { ...dialect, operand: () => rawSql("''") });
    return [{ column, value: null, read, literal: syntax.values[0] }];
  }
  const isItem = takes === "item" || takes === "items";
  const isOfColumn = isItem || takes === "value" || takes === "list" || takes === "pair";
  if (column.databaseType === undefined || !isOfColumn) return [];
  return values.map((value, index) => ({
    column,
    value: isItem ? [value] : value,
    literal: syntax.values[index],
  }));
}

function problemOf({ column, literal, read }: TypedLiteral, cause: DatabaseError): Problem {
  const { at = 0, text = "" } = literal ?? {};
  const expected = read === undefined
    ? `a value of the type ${column.existingType}`
    : 'a tsquery like "fat & cat:*", in a text search configuration that exists';
  const shown = `${excerptOf(column.name)}: ${excerptOf(text)}`;
  return filterError(at, expected, `Cannot filter by ${shown} is not ${expected}`, cause);
}

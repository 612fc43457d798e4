import { DatabaseError } from "../../db/database_error.ts";
import { databaseProblem } from "../../db/database_problem.ts";
import type { Driver } from "../../db/driver.ts";
import { excerptOf, filterError } from "../../filter/syntax/filter_error.ts";
import type { Literal } from "../../filter/syntax/filter_syntax.ts";
import type { Problem } from "../../problem/problem.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import { join, sql, toStatement } from "../../sql/fragment.ts";
import type { Resource } from "../model/resource.ts";
import { comparisonsOf, type PositionedComparison } from "./user_filter.ts";

/**
 * Returns the problem of the first value in a filter that the database rejects for its column's
 * type, or null if there is none. Only the database knows what an `inet` or a range accepts.
 */
export async function refusedLiteralProblem(
  text: string | undefined,
  resource: Resource,
): Promise<Problem | null> {
  if (text === undefined) return null;
  const literals = comparisonsOf(text, resource).flatMap(literalsOf);
  return literals.length === 0 ? null : await firstRefused(literals, resource.driver);
}

/** A value in a filter that the database may reject for its column, such as an invalid `inet`. */
interface TypedLiteral {
  readonly column: ColumnInfo;
  readonly value: unknown;
  readonly literal: Literal | undefined;
}

function literalsOf({ syntax, comparison }: PositionedComparison): readonly TypedLiteral[] {
  const { column, operator: { takes }, values } = comparison;
  const isItem = takes === "item" || takes === "items";
  const isOfColumn = isItem || takes === "value" || takes === "list" || takes === "pair";
  if (column.databaseType === undefined || !isOfColumn) return [];
  return values.map((value, index) => ({
    column,
    value: isItem ? [value] : value,
    literal: syntax.values[index],
  }));
}

/** Finds the value by bisection: each statement tests half of the remaining values. */
async function firstRefused(
  literals: readonly TypedLiteral[],
  driver: Driver,
): Promise<Problem | null> {
  const [first] = literals;
  const refused = first === undefined ? null : await refusal(literals, driver);
  if (first === undefined || refused === null) return null;
  if (literals.length === 1) return problemOf(first, refused);
  const middle = literals.length >> 1;
  return await firstRefused(literals.slice(0, middle), driver) ??
    await firstRefused(literals.slice(middle), driver);
}

async function refusal(
  literals: readonly TypedLiteral[],
  driver: Driver,
): Promise<DatabaseError | null> {
  const { dialect } = driver;
  const tests = literals.map(({ column, value }) => sql`${dialect.bound(value, column)} IS NULL`);
  try {
    await driver.query(toStatement(sql`SELECT ${join(tests, ", ")}`, dialect.placeholder));
    return null;
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === "invalid-value") return error;
    throw databaseProblem(error, "read");
  }
}

function problemOf({ column, literal }: TypedLiteral, cause: DatabaseError): Problem {
  const { at = 0, text = "" } = literal ?? {};
  const expected = `a value of the type ${column.existingType}`;
  const shown = `${excerptOf(column.name)}: ${excerptOf(text)}`;
  return filterError(at, expected, `Cannot filter by ${shown} is not ${expected}`, cause);
}

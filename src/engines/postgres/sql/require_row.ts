import { type Fragment, rawSql, sql } from "../../../sql/fragment.ts";

/** The string whose cast to a number fails for a row outside of the scope. */
const outsideScope = "resource-api: the row is outside of the scope";

/**
 * Returns an SQL expression that fails unless the condition is true. Postgres evaluates a constant
 * cast when it plans the statement. Therefore the cast string ends with a random number.
 */
export function failUnless(condition: Fragment): Fragment {
  return sql`CASE WHEN ${condition} THEN 0 ELSE ${failure} END`;
}

const failure = rawSql(`CAST('${outsideScope} ' || random() AS integer)`);

/** Returns true for the error of {@link failUnless}. The error quotes the string of the cast. */
export function isOutsideScope(code: string, { message }: Error): boolean {
  return code === "22P02" && message.includes(outsideScope);
}

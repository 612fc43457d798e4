import { type Fragment, rawSql, sql } from "../../../sql/fragment.ts";

/** Casting this string to a number makes a statement fail if its row is outside of the scope. */
const outsideScope = "resource-api: the row is outside of the scope";

/** Returns SQL that fails unless `condition` is true. random() prevents the cast while planning. */
export function failUnlessSql(condition: Fragment): Fragment {
  return sql`CASE WHEN ${condition} THEN 0 ELSE ${failure} END`;
}

const failure = rawSql(`CAST('${outsideScope} ' || random() AS integer)`);

/** Returns true for the error of {@link failUnlessSql}, whose message quotes the cast string. */
export function isFailUnlessError(code: string, { message }: Error): boolean {
  return code === "22P02" && message.includes(outsideScope);
}

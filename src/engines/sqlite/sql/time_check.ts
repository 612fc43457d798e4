import { type Fragment, rawSql, sql } from "../../../sql/fragment.ts";

/**
 * The SQL function that every SQLite driver registers on each of its connections for time checks,
 * not deterministic: 1, or {@link overTheLimit} once a statement has run for too long. Its value is
 * the number of bytes that the condition after it looks at, or NULL for a check of rows.
 */
export const timeCheckName = "service_time_check";

/** The SQL function that counts the bytes of a SQLite row, for {@link countedRows}. */
export const rowBytesName = "service_row_bytes";

/**
 * What a check of a SQLite statement gives to end it: abs() of it is an error. Neither library can
 * interrupt a statement, and an error that a function throws makes all() of `node:sqlite` hang in
 * Deno.
 */
export const overTheLimit: bigint = -(2n ** 63n);

/**
 * A check of the time for some of the rows: a call takes a microsecond, and the rows of a page by
 * index should not take longer for it. By the remainder of an integer it costs next to nothing: that
 * of a prime number, because ids may all be multiples of another one. Without an integer, random()
 * picks the rows, which takes 60 ns for each.
 */
export function scanCheck(column?: Fragment, integer?: Fragment): Fragment {
  if (integer !== undefined) return sql`(${integer} % 61 OR abs(${name}(NULL)))`;
  return column === undefined
    ? rowCheck
    : sql`(random() & 15 OR abs(${name}(nullif(${column}, ${column}))))`;
}

/** A condition of groups in which a check looks at the rows that are added up. */
export function groupCheck(check: Fragment): Fragment {
  return sql` HAVING count(*) FILTER (WHERE ${check}) >= 0`;
}

/** A statement of SQLite without its checks of rows: {@link scanCheck} and {@link groupCheck}. */
export function withoutRowChecks(text: string): string {
  return text.replace(groupChecks, "").replace(rowChecks, "1");
}

/** A check of the time before a condition that takes longer for a longer text. */
export function textCheck(operand: Fragment): Fragment {
  return sql`abs(${name}(octet_length(${operand})))`;
}

/**
 * The text of a SELECT of SQLite that counts the bytes of each row by {@link rowBytesName} before
 * the next one is read, which the text alone would not: all rows are in memory before one is seen.
 */
export function countedRows(text: string, columns: number): string {
  const names = Array.from({ length: columns }, (_, index) => `c${index}`);
  const bytes = names.map((name) => `ifnull(octet_length(${name}), 0)`).join(" + ");
  return `WITH q(${
    names.join(", ")
  }) AS (${text}) SELECT * FROM q WHERE abs(${rowBytesName}(${bytes}))`;
}

const rowCheckPattern = String
  .raw`\((?:"(?:[^"]|"")*" % 61|random\(\) & 15) OR abs\(${timeCheckName}\(NULL\)\)\)`;
const rowChecks = new RegExp(rowCheckPattern, "g");
const groupChecks = new RegExp(
  String.raw` HAVING count\(\*\) FILTER \(WHERE ${rowCheckPattern}\) >= 0`,
  "g",
);
const name = rawSql(timeCheckName);
const rowCheck = rawSql(`(random() & 15 OR abs(${timeCheckName}(NULL)))`);

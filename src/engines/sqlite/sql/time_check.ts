import { type Fragment, rawSql, sql } from "../../../sql/fragment.ts";

/**
 * The SQL function of time checks, which every SQLite driver registers on each connection. It is
 * not deterministic. It returns 1, or {@link overLimitResult} once a statement has run too long.
 * Its argument is the number of bytes that the next condition examines, or NULL to check now.
 */
export const timeCheckFunctionName = "service_time_check";

/** The SQL function that counts the bytes of a SQLite row, for {@link withRowByteCount}. */
export const rowBytesFunctionName = "service_row_bytes";

/**
 * The result of a check that ends a SQLite statement, because abs() of this number is an error.
 * Neither library can interrupt a statement, and an error that a function throws makes all() of
 * `node:sqlite` hang in Deno.
 */
export const overLimitResult: bigint = -(2n ** 63n);

/**
 * Returns a time check that runs only for a part of the rows, because each call takes 1 µs. Calls
 * for all rows would slow down indexed pages. Rows are selected by the remainder of an integer,
 * which costs almost nothing. The divisor is prime, because ids may all be multiples of another
 * number. Without an integer, random() selects the rows, which takes 60 ns each.
 */
export function scanCheck(column?: Fragment, integer?: Fragment): Fragment {
  if (integer !== undefined) return sql`(${integer} % 61 OR abs(${name}(NULL)))`;
  return column === undefined
    ? rowCheck
    : sql`(random() & 15 OR abs(${name}(nullif(${column}, ${column}))))`;
}

/** Returns a condition after GROUP BY that runs a time check for the aggregated rows. */
export function groupCheck(check: Fragment): Fragment {
  return sql` HAVING count(*) FILTER (WHERE ${check}) >= 0`;
}

/** Removes the checks of rows from a SQLite statement: {@link scanCheck}, {@link groupCheck}. */
export function withoutRowChecks(text: string): string {
  return text.replace(groupChecks, "").replace(rowChecks, "1");
}

/** Returns SQL that checks the time limit, before a condition on a long string, which is slow. */
export function textTimeCheck(operand: Fragment): Fragment {
  return sql`abs(${name}(octet_length(${operand})))`;
}

/**
 * Returns the SQL of a SELECT that counts the bytes of each row by {@link rowBytesFunctionName} before the
 * next row is read. Otherwise all rows would be in memory before the first row is counted.
 */
export function withRowByteCount(text: string, columns: number): string {
  const names = Array.from({ length: columns }, (_, index) => `c${index}`);
  const bytes = names.map((name) => `ifnull(octet_length(${name}), 0)`).join(" + ");
  return `WITH q(${
    names.join(", ")
  }) AS (${text}) SELECT * FROM q WHERE abs(${rowBytesFunctionName}(${bytes}))`;
}

const rowCheckPattern = String
  .raw`\((?:"(?:[^"]|"")*" % 61|random\(\) & 15) OR abs\(${timeCheckFunctionName}\(NULL\)\)\)`;
const rowChecks = new RegExp(rowCheckPattern, "g");
const groupChecks = new RegExp(
  String.raw` HAVING count\(\*\) FILTER \(WHERE ${rowCheckPattern}\) >= 0`,
  "g",
);
const name = rawSql(timeCheckFunctionName);
const rowCheck = rawSql(`(random() & 15 OR abs(${timeCheckFunctionName}(NULL)))`);

import { type Fragment, rawSql, sql } from "../../../sql/fragment.ts";

/** The SQL function that counts examined bytes and checks the time, for NULL in each call. */
export const timeCheckFunctionName = "service_time_check";

/** The SQL function that counts the bytes of a SQLite row, see {@link withRowByteCount}. */
export const rowBytesFunctionName = "service_row_bytes";

/** This result ends a statement: abs() fails for it. Throwing would hang `node:sqlite` in Deno. */
export const overLimitResult: bigint = -(2n ** 63n);

/** Checks the time in only some rows: a check takes 1 µs. 61 is prime: ids can step by tens. */
export function scanCheck(column?: Fragment, integer?: Fragment): Fragment {
  if (integer !== undefined) return sql`(${integer} % 61 OR abs(${name}(NULL)))`;
  return column === undefined
    ? rowCheck
    : sql`(random() & 15 OR abs(${name}(nullif(${column}, ${column}))))`;
}

export function groupCheck(check: Fragment): Fragment {
  return sql` HAVING count(*) FILTER (WHERE ${check}) >= 0`;
}

export function withoutRowChecks(text: string): string {
  return text.replace(groupChecks, "").replace(rowChecks, "1");
}

export function textTimeCheck(operand: Fragment): Fragment {
  return sql`abs(${name}(octet_length(${operand})))`;
}

/** Adds a count of each row's bytes, so that SQLite stops before it has read too many rows. */
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

import { hasEnoughDigits, typeParts } from "../../../db/migrations/plan/widened_types.ts";
import { affinityOfType } from "../sql/column_type.ts";

/**
 * Returns true if two types keep the same values, by their affinities. SQLite ignores the digits of
 * a decimal, but they document the declaration.
 */
export function isSameSqliteType(wanted: string, has: string): boolean {
  if (wanted.toLowerCase() === has.toLowerCase()) return true;
  const digits = /\(\s*(\d+)\s*,\s*(\d+)\s*\)/;
  const [one, other] = [digits.exec(wanted), digits.exec(has)];
  const isSameNumber = one === null || other === null ||
    one[1] === other[1] && one[2] === other[2];
  return affinityOfType(wanted) === affinityOfType(has) && isSameNumber;
}

/** Returns true if a SQLite column of type `to` keeps every value of a column of type `from`. */
export function isWiderSqliteType(from: string, to: string): boolean {
  const [one, other] = [affinityOfType(from), affinityOfType(to)];
  const [before, after] = [typeParts(from), typeParts(to)];
  if (one === other) return hasEnoughDigits({ ...before, name: "numeric" }, after);
  if (other === "TEXT") return one === "INTEGER";
  if (other === "NUMERIC") return one === "INTEGER" && after.numbers.length === 0;
  // A column without a type stores all values unchanged.
  return other === "BLOB" && to === "";
}

import { hasEnoughDigits, typeParts } from "../../../db/migrations/plan/widened_types.ts";

/** Returns true if the Postgres type `to` can represent every value of the type `from`. */
export function isWiderPostgresType(from: string, to: string): boolean {
  const [one, other] = [typeParts(from), typeParts(to)];
  if (other.name === "text") return !binary.has(one.name);
  if (one.name === other.name) return hasEnoughDigits(one, other);
  if (other.name === "character varying") {
    return one.name === "text" ? other.numbers.length === 0 : false;
  }
  const isBare = other.numbers.length === 0 || other.numbers[0] === 6;
  return isBare && (wider.get(one.name) ?? []).includes(other.name) &&
    !(other.name === "numeric" && one.name.includes("real"));
}

/** The types whose conversion to a string has a surprising result. */
const binary: ReadonlySet<string> = new Set(["bytea"]);

const wider: ReadonlyMap<string, readonly string[]> = new Map([
  ["smallint", ["integer", "bigint", "numeric", "real", "double precision"]],
  ["integer", ["bigint", "numeric", "double precision"]],
  ["bigint", ["numeric"]],
  ["real", ["double precision"]],
  ["boolean", ["bigint", "integer", "smallint", "numeric"]],
  ["date", ["timestamp with time zone", "timestamp without time zone"]],
  ["timestamp without time zone", ["timestamp with time zone"]],
  ["json", ["jsonb"]],
]);

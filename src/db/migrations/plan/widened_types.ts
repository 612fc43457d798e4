import { affinityOfType } from "../../../engines/sqlite/sql/column_type.ts";

/** Returns true if a type of Postgres keeps every value of another one. */
export function isWiderInPostgres(from: string, to: string): boolean {
  const [one, other] = [partsOf(from), partsOf(to)];
  if (other.name === "text") return !binary.has(one.name);
  if (one.name === other.name) return hasRoom(one, other);
  if (other.name === "character varying") {
    return one.name === "text" ? other.numbers.length === 0 : false;
  }
  const isBare = other.numbers.length === 0 || other.numbers[0] === 6;
  return isBare && (wider.get(one.name) ?? []).includes(other.name) &&
    !(other.name === "numeric" && one.name.includes("real"));
}

/** Those whose strings are not what a reader expects. */
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

interface TypeParts {
  readonly name: string;
  readonly numbers: readonly number[];
}

function partsOf(type: string): TypeParts {
  const numbers = /\(([\d,]+)\)/.exec(type)?.[1]?.split(",").map(Number) ?? [];
  return { name: type.replace(/\([\d,]+\)/, ""), numbers };
}

/** `numeric(12,2)` has room for `numeric(10,2)`; a type without numbers has room for all. */
function hasRoom({ name, numbers }: TypeParts, { numbers: [size, scale = 0] }: TypeParts): boolean {
  if (size === undefined) return true;
  const [before, scaleBefore = 0] = numbers;
  if (before === undefined) return name.startsWith("time") && size === 6;
  return name === "numeric"
    ? scale >= scaleBefore && size - scale >= before - scaleBefore
    : size >= before;
}

/** Returns true if a type of SQLite keeps every value of another one, as far as it converts them. */
export function isWiderInSqlite(from: string, to: string): boolean {
  const [one, other] = [affinityOfType(from), affinityOfType(to)];
  const [before, after] = [partsOf(from), partsOf(to)];
  if (one === other) return hasRoom({ ...before, name: "numeric" }, after);
  if (other === "TEXT") return one === "INTEGER";
  if (other === "NUMERIC") return one === "INTEGER" && after.numbers.length === 0;
  // A column without a type keeps all values as they are.
  return other === "BLOB" && to === "";
}

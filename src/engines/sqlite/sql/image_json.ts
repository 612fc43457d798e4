import { hexToBytes } from "../../../protocol/byte_text.ts";
import { jsonMembers } from "../../../schema/exact_json.ts";
import { quoteIdentifier, type SqlValue } from "../../../sql/fragment.ts";

/** A column in the JSON image of a SQLite row. */
export interface ImageColumn {
  /** In the spelling of the database. */
  readonly name: string;
  /** True if its affinity allows floating-point numbers. */
  readonly mayBeReal: boolean;
}

/**
 * The SQL that makes the JSON image of a SQLite row; `valueOf` gives the value of a column. It uses
 * built-in functions only, and only those that libraries of some years ago have, too.
 */
export function imageJson(
  columns: readonly ImageColumn[],
  valueOf: (name: string) => string,
): string {
  const numbers = columns.filter(({ mayBeReal }) => mayBeReal);
  const lines = chunks(numbers, maxTerms).map((some) => realsText(some, valueOf));
  return [membersText(columns, valueOf), ...lines].join(" || ");
}

/** The SQL of a column's value for a JSON image; `row` is a name in the SQLite statement. */
export function valuesOf(row: string): (name: string) => string {
  return (name) => `${row}.${quoteIdentifier(name)}`;
}

/** Decodes a cell of a row's JSON image to the value that a SQLite driver reads from its column. */
export function decodeSqliteCell(raw: string): SqlValue {
  switch (raw.charAt(0)) {
    case '"':
      return JSON.parse(raw);
    case "n":
      return null;
    case "{":
      return hexToBytes(raw.slice(bytesHead.length, -2));
    case "r":
      return realOf(JSON.parse(raw.slice(1)));
    default:
      return numberOf(raw);
  }
}

/**
 * Parses the JSON image of a SQLite row to its members, those of a wide table too. A floating-point
 * number begins with `r`.
 */
export function parseSqliteImage(image: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  const [document = "", ...lines] = image.split("\n");
  for (let rest: string | undefined = document; rest !== undefined;) {
    const part = jsonMembers(rest);
    const next = part.get(moreName);
    rest = next?.startsWith("{") === true && !next.startsWith(bytesHead) ? next : undefined;
    for (const [name, raw] of part) if (raw !== rest) members.set(name, raw);
  }
  for (const line of lines) {
    for (const [name, raw] of jsonMembers(line)) members.set(name, `r${raw}`);
  }
  return members;
}

/** A function takes 127 arguments in libraries of some years ago, and two make a member. */
const maxMembers = 60;
/** A statement may chain 500 SELECTs. */
const maxTerms = 400;

/** The member with the columns beyond {@link maxMembers}. */
const moreName = "$more";
const bytesHead = '{"$bytes":"';

/**
 * JSON has no bytes, and `json_object` throws for them, which would make the write fail. A string
 * stays a string whatever its content is.
 */
function membersText(
  columns: readonly ImageColumn[],
  valueOf: (name: string) => string,
): string {
  const members = columns.slice(0, maxMembers).map(({ name }) => {
    const value = valueOf(name);
    return `${
      sqliteLiteral(name)
    }, CASE typeof(${value}) WHEN 'blob' THEN json_object('$bytes', hex(${value})) ELSE ${value} END`;
  });
  const rest = columns.slice(maxMembers);
  if (rest.length > 0) members.push(`'${moreName}', ${membersText(rest, valueOf)}`);
  return `json_object(${members.join(", ")})`;
}

/**
 * A separate line for floating-point numbers, where there are any: JSON has them with the 15 digits
 * of the library that writes, or with 17 that may be wrong. JSON has no line breaks, so that they
 * separate the lines. Every program that writes to the table compiles the long expression, which is
 * therefore in one query for all columns.
 */
function realsText(columns: readonly ImageColumn[], valueOf: (name: string) => string): string {
  const types = columns.map(({ name }) => `typeof(${valueOf(name)})`);
  const values = columns.map(({ name }) =>
    `SELECT ${sqliteLiteral(name)} AS name, ${valueOf(name)} AS value`
  );
  return `CASE WHEN 'real' IN (${types.join(", ")}) THEN '\n' || (
    SELECT json_group_object(name, ${exactReal}) FROM (${values.join(" UNION ALL ")})
    WHERE typeof(value) = 'real') ELSE '' END`;
}

/**
 * The whole part and 2^62 times the rest: both are integers, and multiplying by a power of two
 * loses nothing, whereas printing depends on the library and the machine. Values outside of the
 * range of this form are scaled into it in steps of 2^62, which are counted.
 */
const exactReal = exactRealOf("value");

function exactRealOf(value: string): string {
  const isInRange = (number: string) => `abs(${number}) BETWEEN 0.001953125 AND 4e18`;
  const parts = (number: string) =>
    `CAST(${number} AS INTEGER), CAST((${number} - CAST(${number} AS INTEGER)) * 4611686018427387904.0 AS INTEGER)`;
  return `CASE WHEN ${isInRange(value)} THEN printf('%d:%d', ${parts(value)})
      WHEN ${value} IN (0.0, 9e999, -9e999) THEN printf('%g', ${value})
      ELSE (WITH RECURSIVE scaled (number, steps) AS (SELECT ${value}, 0 UNION ALL
        SELECT CASE WHEN abs(number) < 1 THEN number * 4611686018427387904.0
          ELSE number / 4611686018427387904.0 END, steps + CASE WHEN abs(number) < 1 THEN -1 ELSE 1 END
        FROM scaled WHERE NOT ${isInRange("number")})
        SELECT printf('%d:%d:%d', ${parts("number")}, steps) FROM scaled
        WHERE ${isInRange("number")}) END`;
}

function realOf(text: string): number {
  if (text.endsWith("Inf")) return text.startsWith("-") ? -Infinity : Infinity;
  const [whole = "", rest = "0", steps = "0"] = text.split(":");
  let number = Number(whole) + Number(rest) / 2 ** 62;
  const count = Number(steps);
  for (let step = 0; step < Math.abs(count); step++) {
    number = count < 0 ? number / 2 ** 62 : number * 2 ** 62;
  }
  return number;
}

function numberOf(raw: string): number | bigint {
  // Libraries of some years ago write Inf, which is no JSON; newer ones 9.0e+999.
  if (raw.endsWith("nf")) return raw.startsWith("-") ? -Infinity : Infinity;
  const number = Number(raw);
  return /^-?\d+$/.test(raw) && !Number.isSafeInteger(number) ? BigInt(raw) : number;
}

/** Quotes a string as a SQL literal of SQLite, such as a name in a JSON image. */
export function sqliteLiteral(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function chunks<T>(list: readonly T[], size: number): readonly (readonly T[])[] {
  const parts: (readonly T[])[] = [];
  for (let start = 0; start < list.length; start += size) {
    parts.push(list.slice(start, start + size));
  }
  return parts;
}

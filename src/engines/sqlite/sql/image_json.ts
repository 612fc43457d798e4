import { hexToBytes } from "../../../protocol/byte_text.ts";
import { chunksOf } from "../../../plan/key.ts";
import { rawJsonMembers } from "../../../schema/exact_json.ts";
import { quoteIdentifier, quoteText, type SqlValue } from "../../../sql/fragment.ts";

export interface ImageColumn {
  readonly name: string;
  readonly mayBeReal: boolean;
}

/** Returns SQL for the JSON image of a row, with functions that old SQLite versions also have. */
export function imageJson(
  columns: readonly ImageColumn[],
  valueOf: (name: string) => string,
): string {
  const numbers = columns.filter(({ mayBeReal }) => mayBeReal);
  const lines = chunksOf(numbers, maxTerms).map((some) => realsText(some, valueOf));
  return [membersText(columns, valueOf), ...lines].join(" || ");
}

/** Returns the JSON path of a column's value in the first line of an image. */
export function imagePath(columns: readonly ImageColumn[], index: number): string {
  const more = `."${moreName}"`.repeat(Math.floor(index / maxMembers));
  return `$${more}."${columns[index]?.name}"`;
}

export function columnSqlOf(row: string): (name: string) => string {
  return (name) => `${row}.${quoteIdentifier(name)}`;
}

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

/** Parses the JSON image of a SQLite row. A floating-point number's string begins with `r`. */
export function parseSqliteImage(image: string): ReadonlyMap<string, string> {
  const members = new Map<string, string>();
  const [document = "", ...lines] = image.split("\n");
  for (let rest: string | undefined = document; rest !== undefined;) {
    const part = rawJsonMembers(rest);
    const next = part.get(moreName);
    rest = next?.startsWith("{") === true && !next.startsWith(bytesHead) ? next : undefined;
    for (const [name, raw] of part) if (raw !== rest) members.set(name, raw);
  }
  for (const line of lines) {
    for (const [name, raw] of rawJsonMembers(line)) members.set(name, `r${raw}`);
  }
  return members;
}

/** The maximum number of members in one `json_object()`. Older libraries allow 127 arguments. */
const maxMembers = 60;
/** The maximum number of SELECTs in a UNION ALL. SQLite allows 500. */
const maxTerms = 400;

const moreName = "$more";
const bytesHead = '{"$bytes":"';

/** Wraps bytes in an object, because `json_object` would fail for bytes, and so would the write. */
function membersText(columns: readonly ImageColumn[], valueOf: (name: string) => string): string {
  const members = columns.slice(0, maxMembers).map(({ name }) => {
    const value = valueOf(name);
    return `${
      quoteText(name)
    }, CASE typeof(${value}) WHEN 'blob' THEN json_object('$bytes', hex(${value})) ELSE ${value} END`;
  });
  const rest = columns.slice(maxMembers);
  if (rest.length > 0) members.push(`'${moreName}', ${membersText(rest, valueOf)}`);
  return `json_object(${members.join(", ")})`;
}

/** Returns SQL for a second line with the exact floating-point numbers, which JSON would round. */
function realsText(columns: readonly ImageColumn[], valueOf: (name: string) => string): string {
  const types = columns.map(({ name }) => `typeof(${valueOf(name)})`);
  const values = columns.map(({ name }) =>
    `SELECT ${quoteText(name)} AS name, ${valueOf(name)} AS value`
  );
  return `CASE WHEN 'real' IN (${types.join(", ")}) THEN '\n' || (
    SELECT json_group_object(name, ${exactReal}) FROM (${values.join(" UNION ALL ")})
    WHERE typeof(value) = 'real') ELSE '' END`;
}

/**
 * SQL that writes a number as two exact integers, its whole part and 2^62 times the rest, because
 * the text of a number depends on the library. Numbers out of range are first scaled by 2^62.
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
  // Older SQLite versions write Inf, which is not JSON. Newer versions write 9.0e+999.
  if (raw.endsWith("nf")) return raw.startsWith("-") ? -Infinity : Infinity;
  const number = Number(raw);
  return /^-?\d+$/.test(raw) && !Number.isSafeInteger(number) ? BigInt(raw) : number;
}

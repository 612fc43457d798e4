import { bytesToBase64, hexToBytes } from "../../../protocol/byte_text.ts";
import { numberOrBigint } from "../../../schema/kinds/number_kinds.ts";
import { type SqlValue, storedValueAsJson } from "../../../sql/fragment.ts";

const numbers: ReadonlySet<number> = new Set([20, 21, 23, 26, 700, 701, 1700]);
/** The OIDs of text, varchar, char(n), name, date and uuid, with equal strings on all engines. */
const texts: ReadonlySet<number> = new Set([25, 1043, 1042, 19, 705, 1082, 2950]);
const booleanType = 16;
const bytesType = 17;

/**
 * Decodes a Postgres value without a column to the value that SQLite would return: true becomes 1,
 * and a numeric becomes a double. Returns undefined for a type that the engines return differently.
 */
export function decodeUntyped(value: SqlValue, type: number | null): unknown {
  if (typeof value !== "string" || type === null) return storedValueAsJson(value);
  if (numbers.has(type)) return numberOf(value);
  if (texts.has(type)) return value;
  if (type === booleanType) return value === "t" ? 1 : 0;
  return type === bytesType ? bytesToBase64(hexToBytes(value.slice(2))) : undefined;
}

/** Parses a number. NaN and the infinities, which JSON lacks, stay strings. */
function numberOf(text: string): number | bigint | string {
  if (/^-?\d{1,19}$/.test(text)) {
    const integer = BigInt(text);
    if (BigInt.asIntN(64, integer) === integer) return numberOrBigint(integer);
  }
  const number = Number(text);
  return Number.isFinite(number) ? number + 0 : text;
}

import { bytesToBase64, hexToBytes } from "../../../protocol/byte_text.ts";
import { parseJson, writeJson } from "../../../schema/exact_json.ts";
import { isCalendarDate } from "../../../schema/instant.ts";
import type { ColumnKind } from "../../../schema/kind.ts";
import { decodeBase64 } from "../../../schema/kinds/bytes_kind.ts";
import { numberOrBigint, plainDecimal, withScale } from "../../../schema/kinds/number_kinds.ts";
import { isCanonicalUuid } from "../../../schema/kinds/uuid_kind.ts";
import type { ColumnInfo, ValueShape } from "../../../schema/table_info.ts";
import { requireBindable, type SqlValue, storedValueAsJson } from "../../../sql/fragment.ts";
import { decodeStructure, encodeStructure, type MemberCodec } from "./structured_values.ts";

export function encode(value: unknown, column: ColumnInfo): SqlValue {
  if (value === null) return null;
  const shape = shapeOfColumn(column);
  if (shape.kind !== "text") return encodeStructure(value, shape, memberCodec);
  switch (column.kind) {
    case "boolean":
      return typeof value === "boolean" ? String(value) : requireBindable(value);
    case "json":
      return writeJson(value);
    case "bytes":
      return typeof value === "string" ? decodeBase64(value) ?? value : requireBindable(value);
    case "text":
    case "integer":
    case "bigint":
    case "real":
    case "decimal":
    case "timestamp":
    case "date":
    case "uuid":
      return requireBindable(value);
  }
}

export function shapeOfColumn(
  { databaseType }: ColumnInfo,
): Exclude<ValueShape, { readonly kind: "any" }> {
  const shape = databaseType?.shape;
  // Only SQLite has columns of any type.
  return shape === undefined || shape.kind === "any" ? { kind: "text" } : shape;
}

/** An invalid member is returned unchanged, so that the rest of the structure stays valid. */
const memberCodec: MemberCodec = {
  encode,
  decode: (text, column) => decode(text, column, () => {}),
};

export function decode(
  value: SqlValue,
  column: ColumnInfo,
  onInvalidValue: (column: ColumnInfo) => void,
): unknown {
  if (value === null) return null;
  const shape = shapeOfColumn(column);
  const decoded = typeof value !== "string"
    ? undefined
    : shape.kind === "text"
    ? decoders[column.kind](value, column)
    : decodeStructure(value, shape, memberCodec);
  if (decoded !== undefined) return decoded;
  onInvalidValue(column);
  return storedValueAsJson(value);
}

/** Decoders by kind. They return undefined for invalid values, such as `infinity` and `NaN`. */
const decoders: Readonly<Record<ColumnKind, (text: string, column: ColumnInfo) => unknown>> = {
  text: (text) => text,
  integer: (text) => /^-?\d{1,19}$/.test(text) ? integerOf(text) : undefined,
  bigint: (text) => /^-?\d{1,19}$/.test(text) ? text : undefined,
  real: (text) => {
    const number = Number(text);
    return Number.isFinite(number) ? number + 0 : undefined; // Adding zero converts −0 to 0.
  },
  decimal: (text, column) => {
    const plain = plainDecimal(text);
    return plain === null ? undefined : withScale(plain, column.scale) ?? undefined;
  },
  boolean: (text) => text === "t" ? true : text === "f" ? false : undefined,
  timestamp: instantOf,
  date: (text) => isCalendarDate(text) ? text : undefined,
  uuid: (text) => isCanonicalUuid(text) ? text : undefined,
  json: (text) => parseJson(text),
  bytes: (text) =>
    /^\\x(?:[0-9a-f]{2})*$/.test(text) ? bytesToBase64(hexToBytes(text.slice(2))) : undefined,
};

function integerOf(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : numberOrBigint(BigInt(text));
}

const timestampText = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?(?:\+00)?$/;

/** Parses `2024-01-01 00:00:00.123456+00`. A `timestamp` has no `+00`. All times are in UTC. */
function instantOf(text: string): string | undefined {
  const match = timestampText.exec(text);
  if (match === null) return undefined;
  const [, date, time, fraction = ""] = match;
  return `${date}T${time}.${fraction.padEnd(fraction.length > 3 ? 6 : 3, "0")}Z`;
}

const numbers: ReadonlySet<number> = new Set([20, 21, 23, 26, 700, 701, 1700]);
/** The OIDs of text, varchar, char(n), name, date and uuid, which are strings on all engines. */
const texts: ReadonlySet<number> = new Set([25, 1043, 1042, 19, 705, 1082, 2950]);
const booleanType = 16;
const bytesType = 17;

/** Returns what SQLite would return for an expression. Undefined for types that differ there. */
export function decodeUntyped(value: SqlValue, type: number | null): unknown {
  if (typeof value !== "string" || type === null) return storedValueAsJson(value);
  if (numbers.has(type)) return numberOf(value);
  if (texts.has(type)) return value;
  if (type === booleanType) return value === "t" ? 1 : 0;
  return type === bytesType ? bytesToBase64(hexToBytes(value.slice(2))) : undefined;
}

function numberOf(text: string): number | bigint | string {
  if (/^-?\d{1,19}$/.test(text)) {
    const integer = BigInt(text);
    if (BigInt.asIntN(64, integer) === integer) return numberOrBigint(integer);
  }
  const number = Number(text);
  return Number.isFinite(number) ? number + 0 : text;
}

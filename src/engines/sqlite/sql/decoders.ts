import { bytesToBase64 } from "../../../protocol/byte_text.ts";
import { parseJson } from "../../../schema/exact_json.ts";
import {
  epochSecond,
  instantFromEpoch,
  isCalendarDate,
  microsecondDigits,
  parseInstant,
} from "../../../schema/instant.ts";
import type { ColumnKind } from "../../../schema/kind.ts";
import { numberOrBigint, plainDecimal, withScale } from "../../../schema/kinds/number_kinds.ts";
import { isCanonicalUuid } from "../../../schema/kinds/uuid_kind.ts";
import {
  type ColumnInfo,
  serviceTimestampFormat,
  type TimestampFormat,
  type TimestampText,
} from "../../../schema/table_info.ts";
import type { SqlValue } from "../../../sql/fragment.ts";

export const defaultTimestampFormat: TimestampText = "date time[.fff]";

/** Encodes a canonical timestamp in the format of a SQLite column's values. Never rounds. */
export function encodeTimestamp(instant: string, format: TimestampFormat): SqlValue {
  const micros = microsecondDigits(instant);
  switch (format) {
    case "epoch-seconds":
      return epochSecond(instant) + Number(micros) / 1e6;
    case "epoch-milliseconds":
      return epochSecond(instant) * 1000 + Number(micros) / 1000;
    case serviceTimestampFormat:
      return `${instant.slice(0, 19)}.${micros}Z`;
    default:
      return timestampText(instant, micros, format);
  }
}

export function decodeTimestamp(value: SqlValue, format: TimestampFormat): string | null {
  switch (format) {
    case "epoch-seconds":
      return fromNumber(value, 1e6);
    case "epoch-milliseconds":
      return fromNumber(value, 1e3);
    case serviceTimestampFormat:
      // Timestamps in the service's own tables already have the canonical form.
      if (typeof value === "string" && microsText.test(value)) {
        return value.endsWith("000Z") ? `${value.slice(0, 23)}Z` : value;
      }
      return fromText(value);
    default:
      return fromText(value);
  }
}

export function isTimestampFormat(format: TimestampFormat, values: readonly SqlValue[]): boolean {
  // As strings, 12:00:00Z sorts after 12:00:00.5Z, so values must have equal lengths to be sorted.
  const widths = new Set(format.endsWith("Z") ? values.map((value) => String(value).length) : []);
  return widths.size <= 1 && values.every((value) => {
    const instant = decodeTimestamp(value, format);
    if (instant === null) return false;
    const stored = typeof value === "bigint" ? Number(value) : value;
    return encodeTimestamp(instant, format) === stored;
  });
}

const microsText = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

function timestampText(instant: string, micros: string, format: TimestampText): string {
  const separator = format.charAt("date".length);
  const isOptional = format.includes("[");
  const isShort = !format.includes("ffffff") && micros.endsWith("000");
  const fraction = isOptional && micros === "000000"
    ? ""
    : `.${isShort ? micros.slice(0, 3) : micros}`;
  const [zone = ""] = /Z$|\+00:00$/.exec(format) ?? [];
  return `${instant.slice(0, 10)}${separator}${instant.slice(11, 19)}${fraction}${zone}`;
}

function fromNumber(value: SqlValue, microsPerUnit: number): string | null {
  if (typeof value !== "number" && typeof value !== "bigint") return null;
  const micros = Math.round(Number(value) * microsPerUnit);
  const epochMs = Math.floor(micros / 1000);
  return instantFromEpoch(epochMs, micros - epochMs * 1000);
}

/** A timestamp without a zone is in UTC, as in SQLite's date functions. */
function fromText(value: SqlValue): string | null {
  if (typeof value !== "string") return null;
  if (isCalendarDate(value)) return `${value}T00:00:00.000Z`;
  const hasZone = /(?:[Zz]|[+-]\d\d:\d\d)$/.test(value);
  return parseInstant(hasZone ? value : `${value}Z`);
}

/** Decoders by kind. For an invalid value of any storage class, they return `undefined`. */
export const decoders: Readonly<
  Record<ColumnKind, (value: Exclude<SqlValue, null>, column: ColumnInfo) => unknown>
> = {
  text: (value) => typeof value === "string" ? value : undefined,
  integer: (value) =>
    typeof value === "bigint"
      ? numberOrBigint(value)
      : Number.isSafeInteger(value)
      ? value
      : undefined,
  bigint: (value) =>
    typeof value === "bigint" || Number.isSafeInteger(value) ? String(value) : undefined,
  // If the driver reads bigints, whole numbers in a REAL column are bigints.
  real: (value) =>
    typeof value === "bigint" ? Number(value) : Number.isFinite(value) ? value : undefined,
  decimal: (value, column) => {
    const plain = value instanceof Uint8Array ? null : plainDecimal(String(value));
    return plain === null ? undefined : withScale(plain, column.scale) ?? undefined;
  },
  boolean: (value) =>
    value === 1 || value === 1n ? true : value === 0 || value === 0n ? false : undefined,
  timestamp: (value, column) => decodeTimestamp(value, column.timestampFormat) ?? undefined,
  date: (value) => typeof value === "string" && isCalendarDate(value) ? value : undefined,
  uuid: (value) => typeof value === "string" && isCanonicalUuid(value) ? value : undefined,
  // A column declared as JSON has NUMERIC affinity, so SQLite stores the document `5` as a number.
  json: (value) =>
    typeof value === "string"
      ? parseJson(value)
      : typeof value === "bigint" || Number.isFinite(value)
      ? value
      : undefined,
  bytes: (value) => value instanceof Uint8Array ? bytesToBase64(value) : undefined,
};

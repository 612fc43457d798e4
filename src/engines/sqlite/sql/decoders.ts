import { bytesToBase64 } from "../../../protocol/byte_text.ts";
import { parseJson } from "../../../schema/exact_json.ts";
import { isCalendarDate } from "../../../schema/instant.ts";
import type { ColumnKind } from "../../../schema/kind.ts";
import { plainDecimal, withScale } from "../../../schema/kinds/decimal_kind.ts";
import { numberOrBigint } from "../../../schema/kinds/number_kinds.ts";
import { isCanonicalUuid } from "../../../schema/kinds/uuid_kind.ts";
import type { ColumnInfo } from "../../../schema/table_info.ts";
import type { SqlValue } from "../../../sql/fragment.ts";
import { decodeTimestamp } from "./timestamps.ts";

type Stored = Exclude<SqlValue, null>;

/** Decoders by kind. For an invalid value of any storage class, they return `undefined`. */
export const decoders: Readonly<
  Record<ColumnKind, (value: Stored, column: ColumnInfo) => unknown>
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

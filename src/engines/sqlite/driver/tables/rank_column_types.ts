import { kindEntries } from "../../../../schema/kinds/kind_properties.ts";
import { anyType, type ColumnInfo, type TimestampFormat } from "../../../../schema/table_info.ts";
import { type Affinity, affinityOfType } from "../../sql/column_type.ts";
import type { ColumnKind } from "../../../../schema/kind.ts";
import type { SqlValue } from "../../../../sql/fragment.ts";
import { defaultTimestampFormat, isTimestampFormat } from "../../sql/decoders.ts";

export type InferredType = Pick<
  ColumnInfo,
  "kind" | "precision" | "scale" | "maxLength" | "timestampFormat" | "databaseType"
>;

/** Infers a column's possible types, likeliest first. The last type accepts all values. */
export function rankColumnTypes(declared: string, sample: readonly SqlValue[]): InferredType[] {
  const format = timestampFormat(sample);
  const moment: InferredType[] = format === null ? [] : [{ ...plain, ...format }];
  const [, name = "", digits] = /^([^(]*)(?:\(([^)]*)\))?/.exec(declared) ?? [];
  const [first = null, second = null] = (digits ?? "").split(",").map(wholeNumber);
  const kind = declaredKind(declared, name.trim().toUpperCase());
  if (kind === null) return [any];
  const affinity = affinityOfType(declared);
  const stored = affinity === "BLOB" ? any : storedShape(sample, affinity);
  switch (kind) {
    case "timestamp":
      return [...moment, { ...plain, kind: "date" }, stored];
    case "date":
      return [{ ...plain, kind }, ...moment, stored];
    case "decimal": {
      const scale = first === null ? null : second ?? 0;
      // A value can have more digits than the column declares. The second type keeps all digits.
      return [{ ...plain, kind, precision: first, scale }, { ...plain, kind }, stored];
    }
    case "text":
      return [{ ...plain, kind, maxLength: first }, stored];
    case "integer":
    case "bigint":
    case "real":
    case "boolean":
    case "uuid":
    case "json":
    case "bytes":
      return [{ ...plain, kind }, stored];
  }
}

const plain: InferredType = {
  kind: "text",
  precision: null,
  scale: null,
  maxLength: null,
  timestampFormat: defaultTimestampFormat,
};

const any: InferredType = { ...plain, databaseType: anyType };

function wholeNumber(text: string): number | null {
  return /^\s*\d+\s*$/.test(text) ? Number(text) : null;
}

function declaredKind(declared: string, name: string): ColumnKind | null {
  const found = kindEntries(declaredKinds).find(([_kind, own]) => own?.[0].test(name) === true);
  if (found === undefined) return null;
  const [kind, own] = found;
  // The affinity must fit, too: the name TEXT_OR_INT contains TEXT, but has the affinity INTEGER.
  return own?.[1]?.includes(affinityOfType(declared)) === false ? null : kind;
}

const numeric: readonly Affinity[] = ["INTEGER", "NUMERIC"];

/** For each kind: the names of its types (the first match is used), and the fitting affinities. */
const declaredKinds: Readonly<
  Record<ColumnKind, readonly [names: RegExp, affinities?: readonly Affinity[]] | null>
> = {
  boolean: [/^BOOL/, numeric],
  timestamp: [/^(DATETIME|TIMESTAMP)/],
  date: [/^DATE$/],
  json: [/^JSONB?$/],
  uuid: [/^(UUID|GUID|UNIQUEIDENTIFIER)$/],
  decimal: [/^(DEC|DECIMAL|NUMERIC|NUMBER|MONEY)\b/, numeric],
  integer: [/^(?:(?:UN)?SIGNED )?(?:TINY|SMALL|MEDIUM|BIG|LONG)? ?INT(?:EGER)?\d*\b/],
  text: [/CHAR|CLOB|TEXT/, ["TEXT"]],
  bytes: [/BLOB|BINARY/],
  real: [/REAL|FLOA|DOUB/, ["REAL"]],
  // A BIGINT column has the kind `integer`.
  bigint: null,
};

/** Returns a type by the values. Only a REAL column is `real`, which would round large integers. */
function storedShape(sample: readonly SqlValue[], affinity: Affinity): InferredType {
  if (sample.every(isInteger)) return { ...plain, kind: "integer" };
  const areNumbers = sample.every((value) =>
    typeof value === "number" || typeof value === "bigint"
  );
  if (affinity === "REAL" && areNumbers) return { ...plain, kind: "real" };
  return sample.every((value) => value instanceof Uint8Array) ? { ...plain, kind: "bytes" } : any;
}

function isInteger(value: SqlValue): boolean {
  return typeof value === "bigint" || Number.isSafeInteger(value);
}

/** Returns the common format of the values. Without values, the format of CURRENT_TIMESTAMP. */
function timestampFormat(
  sample: readonly SqlValue[],
): { readonly kind: "timestamp"; readonly timestampFormat: TimestampFormat } | null {
  const format = candidates(sample).find((format) => isTimestampFormat(format, sample));
  return format === undefined ? null : { kind: "timestamp", timestampFormat: format };
}

function candidates(sample: readonly SqlValue[]): readonly TimestampFormat[] {
  const [first] = sample;
  if (first === undefined) return [defaultTimestampFormat];
  if (typeof first === "string") {
    const separator = first.charAt(10) === "T" ? "T" : " ";
    const zone = first.endsWith("Z") ? "Z" : first.endsWith("+00:00") ? "+00:00" : "";
    return fractions.map((fraction) => `date${separator}time${fraction}${zone}` as const);
  }
  if (!sample.every(isInteger)) return [];
  // As seconds, 10^11 is in the year 5138, so a number of this size means milliseconds.
  const isMillis = sample.some((value) => Math.abs(Number(value)) >= 1e11);
  return [isMillis ? "epoch-milliseconds" : "epoch-seconds"];
}

/** Formats of fractions of a second, narrow formats first: the first format that fits is used. */
const fractions = [".ffffff", ".fff", "[.fff]", "[.ffffff]"] as const;

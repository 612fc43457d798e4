import type { ColumnInfo, ColumnKind, TimestampFormat } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import { defaultTimestamps, isTimestampFormat } from "../../sql/sqlite/timestamps.ts";

/** What a column holds, as its declaration or its rows tell. */
export type InferredType = Pick<
  ColumnInfo,
  "kind" | "precision" | "scale" | "maxLength" | "timestampFormat"
>;

/**
 * What a column may be, likeliest first, from its declared type and some of its values. SQLite
 * stores what it is given whatever was declared, so the last one is always what fits the rows.
 */
export function inferColumnTypes(declared: string, sample: readonly SqlValue[]): InferredType[] {
  const format = timestampFormat(sample);
  const moment: InferredType[] = format === null ? [] : [{ ...plain, ...format }];
  const stored = storedShape(sample);
  const [, name = "", digits] = /^([^(]*)(?:\(([^)]*)\))?/.exec(declared) ?? [];
  const [first = null, second = null] = (digits ?? "").split(",").map(wholeNumber);
  const kind = declaredKind(name.trim().toUpperCase());
  switch (kind) {
    case null:
      return [stored];
    case "timestamp":
      return [...moment, { ...plain, kind: "date" }, stored];
    case "date":
      return [{ ...plain, kind }, ...moment, stored];
    case "decimal": {
      const scale = first === null ? null : second ?? 0;
      // Rows with more digits than declared, the rests of sums: each value keeps its own.
      return [{ ...plain, kind, precision: first, scale }, { ...plain, kind }, stored];
    }
    case "text":
      return [{ ...plain, kind, maxLength: first }, stored];
    default:
      return [{ ...plain, kind }, stored];
  }
}

const plain: InferredType = {
  kind: "text",
  precision: null,
  scale: null,
  maxLength: null,
  timestampFormat: defaultTimestamps,
};

function wholeNumber(text: string): number | null {
  return /^\s*\d+\s*$/.test(text) ? Number(text) : null;
}

/** Null where neither the name nor SQLite's own rules of affinity tell. */
function declaredKind(name: string): ColumnKind | null {
  return declaredKinds.find(([pattern]) => pattern.test(name))?.[1] ?? null;
}

const declaredKinds: readonly (readonly [RegExp, ColumnKind])[] = [
  [/^BOOL/, "boolean"],
  [/^(DATETIME|TIMESTAMP)/, "timestamp"],
  [/^DATE$/, "date"],
  [/^JSONB?$/, "json"],
  [/^(UUID|GUID|UNIQUEIDENTIFIER)$/, "uuid"],
  [/^(DEC|DECIMAL|NUMERIC|NUMBER|MONEY)\b/, "decimal"],
  [/INT/, "integer"],
  [/CHAR|CLOB|TEXT|STRING/, "text"],
  [/BLOB|BINARY/, "bytes"],
  [/REAL|FLOA|DOUB/, "real"],
];

/** What fits values whose declaration says nothing. */
function storedShape(sample: readonly SqlValue[]): InferredType {
  if (sample.length === 0) return plain;
  const kind: ColumnKind = sample.every(isInteger)
    ? "integer"
    : sample.every((value) => typeof value === "number" || typeof value === "bigint")
    ? "real"
    : sample.every((value) => value instanceof Uint8Array)
    ? "bytes"
    : "text";
  return { ...plain, kind };
}

function isInteger(value: SqlValue): boolean {
  return typeof value === "bigint" || Number.isSafeInteger(value);
}

/** The form that all the values have; that of CURRENT_TIMESTAMP when there are none. */
function timestampFormat(
  sample: readonly SqlValue[],
): { readonly kind: "timestamp"; readonly timestampFormat: TimestampFormat } | null {
  const format = candidates(sample).find((format) => isTimestampFormat(format, sample));
  return format === undefined ? null : { kind: "timestamp", timestampFormat: format };
}

/** What the values may be in, likeliest first. */
function candidates(sample: readonly SqlValue[]): readonly TimestampFormat[] {
  const [first] = sample;
  if (first === undefined) return [defaultTimestamps];
  if (typeof first === "string") {
    const separator = first.charAt(10) === "T" ? "T" : " ";
    const zone = first.endsWith("Z") ? "Z" : first.endsWith("+00:00") ? "+00:00" : "";
    return fractions.map((fraction) => `date${separator}time${fraction}${zone}` as const);
  }
  if (!sample.every(isInteger)) return [];
  // 10^11 seconds are the year 5138; 10^11 milliseconds are 1973.
  const isMillis = sample.some((value) => Math.abs(Number(value)) >= 1e11);
  return [isMillis ? "epoch-milliseconds" : "epoch-seconds"];
}

/** The narrower before those that also fit its rows. */
const fractions = [".ffffff", ".fff", "[.fff]", "[.ffffff]"] as const;

import {
  exceededJsonLimit,
  type JsonLimits,
  parseCheckedJson,
  parseJson,
} from "../../schema/exact_json.ts";
import { InvalidValue } from "../../schema/kind.ts";
import { utcSecond } from "../../schema/instant.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { TimestampUnit } from "./import_options.ts";

/** Converts a field that a database or spreadsheet wrote. Throws for local forms like `1,5`. */
export function csvValue(
  text: string,
  column: ColumnInfo,
  limits: JsonLimits,
  timestamps?: TimestampUnit,
): unknown {
  const { kind, databaseType } = column;
  if (databaseType?.shape.kind === "any") return numberOf(text);
  if (databaseType !== undefined) {
    return databaseType.shape.kind === "text" ? text : parseJson(text) ?? text;
  }
  switch (kind) {
    case "text":
    case "uuid":
    case "bytes":
      return text;
    case "boolean":
      return booleans.get(text.toLowerCase()) ?? text;
    case "date":
      return plainDecimal.test(text) ? numericTime(text, timestamps).slice(0, 10) : dayOf(text);
    case "timestamp":
      return plainDecimal.test(text) ? numericTime(text, timestamps) : timeOf(text);
    case "integer":
    case "real":
      return plainNumber(numberOf(inJsonForm(text)));
    case "bigint":
    case "decimal":
      return plainNumber(inJsonForm(text));
    case "json":
      return documentOf(text, limits);
  }
}

/** Returns true if every string is a valid value of the column, even an unquoted `NULL`. */
export function isTextual({ kind, databaseType }: ColumnInfo): boolean {
  if (databaseType !== undefined) return ["any", "text"].includes(databaseType.shape.kind);
  return kind === "text";
}

export function canBeEmpty(column: ColumnInfo): boolean {
  return isTextual(column) || column.kind === "bytes";
}

function inJsonForm(text: string): string {
  const [, sign, digits, rest] = otherNumber.exec(text) ?? [];
  return rest === undefined ? text : `${sign === "-" ? "-" : ""}${digits || "0"}${rest}`;
}

const otherNumber =
  /^(?=[+.0]|-[.0])([+-]?)(?=\.?\d)0*(\d{0,400})((?:\.\d{1,1000})?(?:[eE].{1,5})?)$/;

/** The error for a number in a column of timestamps or dates. `unit` is its likely unit, if any. */
export class AmbiguousTime extends InvalidValue {
  readonly unit: TimestampUnit | null;

  /** A number like `20240131` has no likely unit. */
  constructor(text: string) {
    super(`is the number ${text}, which may count milliseconds, seconds or days`);
    const size = Math.abs(Number(text));
    const isDay = /^(?:19|20)\d{6}$/.test(text);
    this.unit = isDay ? null : size < 1e6 ? "excel" : size < 1e11 ? "s" : "ms";
  }
}

const plainDecimal = /^-?\d{1,15}(?:\.\d{1,15})?$/;

function numericTime(text: string, unit: TimestampUnit | undefined): string {
  if (unit === undefined) throw new AmbiguousTime(text);
  const micros = microsOf(text, unit);
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const second = utcSecond(Number(micros - fraction) / 1_000);
  if (second !== null) return `${second}.${String(fraction).padStart(6, "0")}Z`;
  throw new InvalidValue("must be a timestamp in the years 1 to 9999");
}

function microsOf(text: string, unit: TimestampUnit): bigint {
  // Spreadsheets count days; the day 25,569 is the first of January 1970.
  if (unit === "excel") return BigInt(Math.round((Number(text) - 25_569) * 86_400_000)) * 1_000n;
  const [whole = "", fraction = ""] = text.split(".");
  const digits = unit === "s" ? 6 : 3;
  return BigInt(whole + fraction.slice(0, digits).padEnd(digits, "0"));
}

function documentOf(text: string, limits: JsonLimits): unknown {
  const value = exceededJsonLimit(text, limits) === null ? parseCheckedJson(text) : undefined;
  if (value === undefined) throw new InvalidValue("must be JSON");
  return value;
}

function plainNumber(value: unknown): unknown {
  if (typeof value !== "string" || !localNumber.test(value)) return value;
  throw new InvalidValue(
    `is ${JSON.stringify(value)}: write a number with digits and a decimal point only, ` +
      "without a decimal comma, thousands separators, % or a currency",
  );
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ...["true", "t", "yes", "y", "1"].map((text) => [text, true] as const),
  ...["false", "f", "no", "n", "0"].map((text) => [text, false] as const),
]);

function numberOf(text: string): unknown {
  // A double keeps all digits of a number with fewer than 16 digits.
  if (text.length < 16 && shortNumber.test(text)) return Number(text);
  return number.test(text) ? parseJson(text) ?? text : text;
}

const shortNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
const number = /^-?\d{1,400}(?:\.\d{1,1000})?(?:[eE][+-]?\d{1,4})?$/;
const localNumber = /^(?=.{0,60}\d)(?=.{0,60}[,'’\s%\p{Sc}])[-+\d.,'’\s%\p{Sc}]{1,60}$/u;

/** Converts a timestamp of a database or spreadsheet, like `2024-01-31 10:00+02`, to RFC 3339. */
function timeOf(text: string): string {
  const [, date, minutes, seconds = ":00", zone = "Z"] = sqlTime.exec(text) ?? [];
  if (date === undefined) return dayOf(text);
  const offset = /^[+-]/.test(zone) ? `${zone.replace(":", "").padEnd(5, "0")}` : "+0000";
  return `${date}T${minutes}${seconds}${offset.slice(0, 3)}:${offset.slice(3)}`;
}

const sqlTime =
  /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(:\d\d(?:\.\d{1,30})?)?(?: ?([Zz]|UTC|[+-]\d\d(?::?\d\d)?))?$/;

function dayOf(text: string): string {
  if (!localDay.test(text)) return text;
  throw new InvalidValue(
    `is ${JSON.stringify(text)}, whose order of day and month is not certain: write YYYY-MM-DD`,
  );
}

const localDay = /^\d{1,4}[/.]\d{1,2}[/.]\d{1,4}(?:\D.{0,40})?$/;

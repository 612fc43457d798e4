import {
  compareInstants,
  instantFromEpoch,
  isCalendarDate,
  parseInputTimestamp,
} from "../instant.ts";
import { InvalidValue, type Kind } from "../kind.ts";
import { isSpecialValue } from "../special_values.ts";
import { compareText } from "./text_kind.ts";

export const timestampKind: Kind = {
  fromJson(value) {
    // Bodies cannot contain a Date, but hooks and default functions can return one.
    const epochMs = value instanceof Date ? value.getTime() : value;
    if (typeof epochMs === "string") return moment(epochMs);
    const isWhole = typeof epochMs === "number" && Number.isInteger(epochMs);
    return required(isWhole ? instantFromEpoch(epochMs, 0) : null);
  },
  fromText: (text) => isSpecialValue(text, "timestamp") ? text : moment(text),
  compare: (left, right) => compareInstants(String(left), String(right)),
  ordered: true,
};

export const dateKind: Kind = {
  fromJson(value) {
    const day = value instanceof Date && isFinite(value.getTime())
      ? value.toISOString().slice(0, 10)
      : value;
    if (typeof day !== "string" || !isCalendarDate(day)) {
      throw new InvalidValue("must be a date, YYYY-MM-DD");
    }
    return day;
  },
  fromText(text) {
    if (isSpecialValue(text, "date")) return text;
    if (!isCalendarDate(text)) throw new InvalidValue("must be a date, YYYY-MM-DD");
    return text;
  },
  compare: (left, right) => compareText(String(left), String(right)),
  ordered: true,
};

function moment(text: string): string {
  return required(parseInputTimestamp(text));
}

function required(instant: string | null): string {
  if (instant === null) {
    throw new InvalidValue("must be an RFC 3339 timestamp, a date, or whole epoch milliseconds");
  }
  return instant;
}

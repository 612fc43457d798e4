import { compareInstants, instantFromEpoch, isCalendarDate, parseInstant } from "./instant.ts";
import { InvalidValue, type Kind } from "./kind.ts";
import { compareText } from "./text_kind.ts";

/** The column kind `timestamp`: a moment, to the microsecond, as RFC 3339 text in UTC. */
export const timestampKind: Kind = {
  fromJson(value) {
    // A body cannot contain a Date, but a hook or a default function may return one.
    const epochMs = value instanceof Date ? value.getTime() : value;
    const instant = typeof epochMs === "number"
      ? Number.isInteger(epochMs) ? instantFromEpoch(epochMs, 0) : null
      : typeof epochMs === "string"
      ? parseInstant(epochMs)
      : null;
    return required(instant, "must be an RFC 3339 timestamp or whole epoch milliseconds");
  },
  fromText(text) {
    const instant = isCalendarDate(text) ? `${text}T00:00:00.000Z` : parseInstant(text);
    return required(instant, "must be an RFC 3339 timestamp or a date");
  },
  compare: (left, right) => compareInstants(String(left), String(right)),
  ordered: true,
};

/** The column kind `date`: a day of the calendar, `YYYY-MM-DD`. */
export const dateKind: Kind = {
  fromJson(value) {
    if (typeof value !== "string" || !isCalendarDate(value)) {
      throw new InvalidValue("must be a date, YYYY-MM-DD");
    }
    return value;
  },
  fromText(text) {
    if (!isCalendarDate(text)) throw new InvalidValue("must be a date, YYYY-MM-DD");
    return text;
  },
  compare: (left, right) => compareText(String(left), String(right)),
  ordered: true,
};

function required(instant: string | null, message: string): string {
  if (instant === null) throw new InvalidValue(message);
  return instant;
}

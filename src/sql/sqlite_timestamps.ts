import {
  epochSecond,
  fractionOf,
  instantFromEpoch,
  isCalendarDate,
  parseInstant,
} from "../schema/instant.ts";
import type { TimestampFormat } from "../schema/table_info.ts";
import type { SqlValue } from "./fragment.ts";

/**
 * A canonical moment the way the rows of a column keep it. A format with three digits takes six
 * where the microseconds need them.
 */
export function encodeTimestamp(instant: string, format: TimestampFormat): SqlValue {
  const micros = fractionOf(instant);
  const spaced = `${instant.slice(0, 10)} ${instant.slice(11, 19)}`;
  switch (format) {
    case "micros-text":
      return `${instant.slice(0, 19)}.${micros}Z`;
    case "iso-text":
      return instant;
    case "space-text":
      return micros === "000000" ? spaced : `${spaced}.${shortened(micros)}`;
    case "space-millis-text":
      return `${spaced}.${shortened(micros)}`;
    case "space-micros-text":
      return `${spaced}.${micros}`;
    case "epoch-seconds":
      return epochSecond(instant) + Number(micros) / 1e6;
    case "epoch-milliseconds":
      return epochSecond(instant) * 1000 + Number(micros) / 1000;
  }
}

/** A stored moment in canonical form, or null where it is none. */
export function decodeTimestamp(value: SqlValue, format: TimestampFormat): string | null {
  switch (format) {
    case "epoch-seconds":
      return fromNumber(value, 1e6);
    case "epoch-milliseconds":
      return fromNumber(value, 1e3);
    case "micros-text":
      // The rows of our own tables, without the cost of a calendar.
      if (typeof value === "string" && microsText.test(value)) {
        return value.endsWith("000Z") ? `${value.slice(0, 23)}Z` : value;
      }
      return fromText(value);
    default:
      return fromText(value);
  }
}

const microsText = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;

function shortened(micros: string): string {
  return micros.endsWith("000") ? micros.slice(0, 3) : micros;
}

function fromNumber(value: SqlValue, microsPerUnit: number): string | null {
  if (typeof value !== "number" && typeof value !== "bigint") return null;
  const micros = Math.round(Number(value) * microsPerUnit);
  const epochMs = Math.floor(micros / 1000);
  return instantFromEpoch(epochMs, micros - epochMs * 1000);
}

/** Text without a zone is UTC, as SQLite's own date functions have it. */
function fromText(value: SqlValue): string | null {
  if (typeof value !== "string") return null;
  if (isCalendarDate(value)) return `${value}T00:00:00.000Z`;
  const hasZone = /(?:[Zz]|[+-]\d\d:\d\d)$/.test(value);
  return parseInstant(hasZone ? value : `${value}Z`);
}

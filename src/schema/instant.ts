/**
 * Timestamps are strings in UTC, such as `2026-01-31T12:00:00.000Z`, in the years 0001 to 9999.
 * They have three fraction digits, or six if there are microseconds. `Date` cannot check them: V8
 * reads `2024-02-30` as the first of March.
 */

/**
 * Converts an RFC 3339 timestamp to the canonical string in UTC, or returns null. Rejects digits
 * finer than microseconds, because truncation would change the value.
 */
export function parseInstant(text: string): string | null {
  const match = rfc3339.exec(text);
  if (match === null) return null;
  const [, date = "", hour = "", minute = "", second = "", fraction = "", offset = ""] = match;
  if (!isCalendarDate(date) || hour > "23" || minute > "59" || second > "59") return null;
  if (/[1-9]/.test(fraction.slice(6))) return null;
  const micros = fraction.slice(0, 6).padEnd(6, "0");
  const local = `${date}T${hour}:${minute}:${second}`;
  if (offset === "Z" || offset === "z") return canonical(local, micros);
  const [offsetHour = "", offsetMinute = ""] = offset.slice(1).split(":");
  if (offsetHour > "23" || offsetMinute > "59") return null;
  const shiftMs = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000;
  const epochMs = Date.parse(`${local}Z`) + (offset.startsWith("-") ? shiftMs : -shiftMs);
  const utc = utcSecond(epochMs);
  return utc === null ? null : canonical(utc, micros);
}

/**
 * Parses a timestamp in a body or filter: RFC 3339, whole milliseconds since 1970, or a date.
 * Truncates digits finer than microseconds, so that a filter finds the value that a body wrote.
 */
export function parseInputTimestamp(text: string): string | null {
  if (isCalendarDate(text)) return `${text}T00:00:00.000Z`;
  if (epochMilliseconds.test(text)) return instantFromEpoch(Number(text), 0);
  return parseInstant(text.replace(finerThanMicroseconds, "$1"));
}

/** Returns the canonical timestamp of epoch milliseconds plus 0–999 µs; null if out of range. */
export function instantFromEpoch(epochMs: number, micros: number): string | null {
  const utc = utcSecond(epochMs);
  if (utc === null) return null;
  const milliseconds = ((epochMs % 1000) + 1000) % 1000;
  return canonical(utc, String(milliseconds * 1000 + micros).padStart(6, "0"));
}

/** Returns the canonical timestamp of a clock's time, which must be in the years 0001 to 9999. */
export function instantOf(epochMs: number): string {
  const instant = instantFromEpoch(Math.floor(epochMs), 0);
  if (instant === null) throw new Error(`The clock shows ${epochMs} ms: no year from 1 to 9999`);
  return instant;
}

export function epochSecond(instant: string): number {
  return Date.parse(`${instant.slice(0, 19)}Z`) / 1000;
}

export function isInstant(text: string): boolean {
  return canonicalShape.test(text);
}

export function microsecondDigits(instant: string): string {
  return instant.slice(20, -1).padEnd(6, "0");
}

export function compareInstants(left: string, right: string): number {
  const leftSecond = left.slice(0, 19);
  const rightSecond = right.slice(0, 19);
  const [a, b] = leftSecond === rightSecond
    ? [microsecondDigits(left), microsecondDigits(right)]
    : [leftSecond, rightSecond];
  return a === b ? 0 : a < b ? -1 : 1;
}

export function isCalendarDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const year = Number(text.slice(0, 4));
  const month = Number(text.slice(5, 7));
  const day = Number(text.slice(8));
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const last = month === 2 && isLeap ? 29 : daysOfMonth[month - 1] ?? 0;
  return year >= 1 && day >= 1 && day <= last;
}

const rfc3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,30}))?([Zz]|[+-]\d\d:\d\d)$/;
const epochMilliseconds = /^-?\d{1,15}$/;
const finerThanMicroseconds = /(\.\d{6})\d+/;
const canonicalShape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,6}Z$/;
const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const firstMs = Date.parse("0001-01-01T00:00:00Z");
const lastMs = Date.parse("9999-12-31T23:59:59.999Z");

function canonical(second: string, micros: string): string {
  return `${second}.${micros.endsWith("000") ? micros.slice(0, 3) : micros}Z`;
}

/** Returns a timestamp without its fraction and `Z`, or null outside of the years 1 to 9999. */
export function utcSecond(epochMs: number): string | null {
  if (!(epochMs >= firstMs && epochMs <= lastMs)) return null;
  return new Date(epochMs).toISOString().slice(0, 19);
}

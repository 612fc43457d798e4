import { documentText } from "../row/document_text.ts";

/** The most characters of a value in a table. */
export const shownCharacters = 200;

/** A value as one short line of text; null and undefined have none. */
export function formatValue(value: unknown): string {
  const text = typeof value === "string" ? value.slice(0, shownCharacters + 1) : compact(value);
  const line = text.replace(/[\r\n\t]+/g, " ⏎ ");
  return line.length > shownCharacters ? `${line.slice(0, shownCharacters)}…` : line;
}

function compact(value: unknown): string {
  return typeof value === "object" && value !== null ? documentText(value) : String(value);
}

/** A number with few digits, as a label of a chart shows it. */
export function formatNumber(value: number): string {
  if (value !== 0 && Math.abs(value) < 10) return String(Number(value.toPrecision(2)));
  return Math.round(value).toLocaleString("en");
}

/** The words for a number of rows. */
export function rowsText(count: number): string {
  return count === 1 ? "1 row" : `${count.toLocaleString("en")} rows`;
}

/** A time as a date and a time of day, in the zone of the browser; other values as they are. */
export function formatTime(value: unknown): string {
  const isTime = typeof value === "number" || typeof value === "string";
  const date = new Date(isTime ? value : NaN);
  return Number.isNaN(date.getTime()) ? formatValue(value ?? "–") : date.toLocaleString("sv");
}

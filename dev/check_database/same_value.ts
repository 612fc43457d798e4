import { Buffer } from "node:buffer";
import type { Cell } from "./oracle.ts";

/**
 * Returns true if a value in a response equals a stored value, by the type of the field. Returns
 * null if plain SQL has no comparable form of the type.
 */
export function isSameValue(value: unknown, cell: Cell, type: string): boolean | null {
  // The service sends the JSON document `null` like NULL.
  if (value === null && type === "json" && cell === "null") return true;
  if (value === null || cell === null) return value === null && cell === null;
  const stored = cell instanceof Uint8Array ? Buffer.from(cell).toString("base64") : String(cell);
  const sent = String(value);
  switch (type) {
    case "text":
    case "uuid":
    case "date":
      // A cast of an inet to text adds the mask of a host, which the output of an inet omits.
      return [stored, stored.replace(/\/(?:32|128)$/, "")].includes(sent) ||
        sent.toLowerCase() === stored.toLowerCase() && type === "uuid";
    case "any":
      if (cell instanceof Uint8Array) return sent === `x'${Buffer.from(cell).toString("hex")}'`;
      // SQLite prints whole doubles as 1.0, and strings of SQLite are not numbers.
      return typeof value === "string" ? sent === stored : Number(sent) === Number(stored);
    case "integer":
    case "bigint":
      return sent === stored;
    case "real":
      return sent === stored || Number(sent) === Number(stored);
    case "decimal":
      // A double has only the digits that it shows, but all digits of a string count.
      return withoutZeros(sent) === withoutZeros(stored) ||
        typeof cell === "number" && Number(sent) === cell;
    case "boolean":
      return value === ["1", "t", "true"].includes(stored.toLowerCase());
    case "bytes":
      return sent === stored || stored === `\\x${Buffer.from(sent, "base64").toString("hex")}`;
    case "json":
      // Arrays, composites and hstores of Postgres have separate notations as strings.
      if (Array.isArray(value) && /^(?:\[[\d:[\]-]+=)?\{/.test(stored)) return null;
      if (isObject(value) && /^\(.*\)$/s.test(stored)) return sameMembers(value, stored);
      if (isObject(value) && isHstore(stored)) return sameMap(value, stored);
      return typeof cell === "string" ? sameJson(value, cell) : null;
    case "timestamp":
      return isMoment(sent, stored) || sent === stored;
    default:
      return null;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Compares the members of a composite, `(1,"a ""b""",)`. Null unless all are simple values. */
function sameMembers(value: Readonly<Record<string, unknown>>, stored: string): boolean | null {
  const members = Object.values(value);
  if (members.some((member) => typeof member === "object" && member !== null)) return null;
  const cells = [...stored.slice(1, -1).matchAll(/("(?:[^"\\]|""|\\.)*"|[^,]*)(?:,|$)/gs)]
    .map(([, cell = ""]) => cell).slice(0, members.length);
  return members.every((member, index) => {
    const cell = cells[index] ?? "";
    if (member === null || cell === "") return member === null && cell === "";
    const text = cell.startsWith('"')
      ? cell.slice(1, -1).replace(/""|\\(.)/g, (all, one) => one ?? all[0])
      : cell;
    return String(member) === text || typeof member === "number" && member === Number(text) ||
      typeof member === "boolean" && text === (member ? "t" : "f") ||
      typeof member === "string" && isMoment(member, text);
  });
}

const hstorePair = /"((?:[^"\\]|\\.)*)"=>(?:NULL|"((?:[^"\\]|\\.)*)")(?:, |$)/gs;

function isHstore(stored: string): boolean {
  return stored === "" || stored.replace(hstorePair, "") === "";
}

function sameMap(value: Readonly<Record<string, unknown>>, stored: string): boolean {
  const plain = (text: string) => text.replace(/\\(.)/gs, "$1");
  const pairs = [...stored.matchAll(hstorePair)].map(([, name = "", text]) => [
    plain(name),
    text === undefined ? null : plain(text),
  ]);
  return sorted(value) === sorted(Object.fromEntries(pairs));
}

function sameJson(value: unknown, text: string): boolean {
  try {
    return JSON.stringify(value) === JSON.stringify(JSON.parse(text)) ||
      sorted(value) === sorted(JSON.parse(text));
  } catch {
    // A string that is no JSON document is sent as a string.
    return value === text;
  }
}

function sorted(value: unknown): string {
  return JSON.stringify(
    value,
    (_name, part) =>
      part !== null && typeof part === "object" && !Array.isArray(part)
        ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => one < other ? -1 : 1))
        : part,
  );
}

/** `12.50` → `12.5`. */
function withoutZeros(digits: string): string {
  return digits.replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

function isMoment(sent: string, stored: string): boolean {
  const moment = Date.parse(sent);
  return !Number.isNaN(moment) && momentsOf(stored).includes(moment);
}

/** Returns the possible times of a stored timestamp: a string in UTC, seconds or milliseconds. */
function momentsOf(stored: string): readonly number[] {
  if (/^-?[\d.]+$/.test(stored)) return [Number(stored) * 1_000, Number(stored)];
  const iso = stored.replace(" ", "T").replace(/(\.\d{3})\d+/, "$1").replace(/\+00(:00)?$/, "Z");
  return [Date.parse(iso), Date.parse(/Z$/.test(iso) ? iso : `${iso}Z`)];
}

import type { AggregateGroup } from "../../db/aggregate_groups.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { bytesOfRow } from "../../db/row_bytes.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";

export interface ResponseByteBudget {
  readonly limit: number;
  /** The remaining number of bytes. A row that occurs twice in the response counts twice. */
  left: number;
}

/** A part of a response, which the error names if the part makes the response too large. */
export interface ResponsePart {
  /** The name in the error's details: `rows`, `groups`, or an include's path: `author.posts`. */
  readonly name: string;
  readonly subject: string;
  readonly advice: string;
}

export const pageRowsPart: ResponsePart = {
  name: "rows",
  subject: "the rows of the page",
  advice: "Request a smaller page, or fewer fields with select",
};

export const singleRowPart: ResponsePart = {
  name: "rows",
  subject: "the row",
  advice: "Request fewer fields with select",
};

export const writtenRowsPart: ResponsePart = {
  name: "rows",
  subject: "the rows of this write, as it would answer them,",
  advice: "Write fewer rows at once",
};

export const groupsPart: ResponsePart = {
  name: "groups",
  subject: "the groups",
  advice: "Request fewer groups with limit or filter, or group by shorter fields",
};

export function includedRowsPart(path: string): ResponsePart {
  return {
    name: path,
    subject: `the rows that "${path}" includes, each as often as it appears,`,
    advice: "Request a smaller page, give the relation a limit, or leave it out",
  };
}

export function responseTooLarge(limit: number, { name, subject, advice }: ResponsePart): Problem {
  return new Problem(
    "query-too-expensive",
    `Cannot answer: ${subject} have more than ${limit} bytes. ${advice}`,
    { details: { limit, part: name } },
  );
}

export function asResponseTooLarge(error: unknown, limit: number, part: ResponsePart): unknown {
  const isTooLarge = error instanceof DatabaseError && error.kind === "too-large";
  return isTooLarge ? responseTooLarge(limit, part) : error;
}

/** Returns a counter of a row's bytes. Arrays and objects count with their size in memory. */
export function createRowByteCounter(
  read: readonly ColumnInfo[],
  visible: readonly ColumnInfo[],
): (row: readonly SqlValue[]) => number {
  const textBytes = shownTextBytes(read, visible);
  if (!visible.some(isDocument)) return textBytes;
  const documents = visible.filter(isDocument).map((column) => read.indexOf(column));
  return (row) =>
    documents.reduce((sum, place) => sum + containerBytes(row[place] ?? null), textBytes(row));
}

function shownTextBytes(
  read: readonly ColumnInfo[],
  visible: readonly ColumnInfo[],
): (row: readonly SqlValue[]) => number {
  if (read.length === visible.length) return bytesOfRow;
  const places = visible.map((column) => read.indexOf(column));
  return (row) => bytesOfRow(places.map((place) => row[place] ?? null));
}

function isDocument({ kind }: ColumnInfo): boolean {
  return kind === "json";
}

const bytesOfContainer = 32;
/** Documents up to this number of characters need little memory, whatever they contain. */
const shortDocument = 1_024;
const openBracket = 0x5b;
const openBrace = 0x7b;

/** Estimates the memory of arrays and objects by counting all brackets, even those in strings. */
function containerBytes(document: SqlValue): number {
  if (typeof document !== "string" || document.length < shortDocument) return 0;
  let count = 0;
  for (let at = 0; at < document.length; at++) {
    const code = document.charCodeAt(at);
    if (code === openBracket || code === openBrace) count++;
  }
  return bytesOfContainer * count;
}

export function countRowBytes(
  bytes: ResponseByteBudget,
  rows: readonly (readonly SqlValue[])[],
  bytesOf: (row: readonly SqlValue[]) => number,
  part: ResponsePart,
): void {
  for (const row of rows) bytes.left -= bytesOf(row);
  if (bytes.left < 0) throw responseTooLarge(bytes.limit, part);
}

const bytesOfValue = 64;

export function estimateGroupBytes(groups: readonly AggregateGroup[]): number {
  let bytes = 0;
  for (const { key, metrics } of groups) {
    bytes += bytesOfValue * (key.length + metrics.length);
    for (const value of key) if (typeof value === "string") bytes += value.length;
    for (const value of metrics) if (typeof value === "string") bytes += value.length;
  }
  return bytes;
}

import type { AggregateGroup } from "../../db/aggregate_groups.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { bytesOfRow } from "../../db/row_bytes.ts";
import { Problem } from "../../problem/problem.ts";
import type { ColumnInfo } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";

/** The bytes of one answer, counted while its rows are read. */
export interface AnswerBytes {
  /** What the answer may have. */
  readonly limit: number;
  /** What is left of it: the values of a row count each time that the answer shows it. */
  left: number;
}

/** A part of an answer, for the refusal of one that is too large. */
export interface AnswerPart {
  /** In details: `rows`, `groups`, or the path of an include, as `author.posts`. */
  readonly name: string;
  readonly subject: string;
  readonly advice: string;
}

/** The rows of a page. */
export const pageRows: AnswerPart = {
  name: "rows",
  subject: "the rows of the page",
  advice: "Request a smaller page, or fewer fields with select",
};

/** A single row. */
export const singleRow: AnswerPart = {
  name: "rows",
  subject: "the row",
  advice: "Request fewer fields with select",
};

/** The rows of a batch, which the answer to the write shows. */
export const writtenRows: AnswerPart = {
  name: "rows",
  subject: "the rows of this write, as it would answer them,",
  advice: "Write fewer rows at once",
};

/** The groups of an aggregate. */
export const allGroups: AnswerPart = {
  name: "groups",
  subject: "the groups",
  advice: "Request fewer groups with limit or filter, or group by shorter fields",
};

/** The rows of an include, by its path. */
export function includedRows(path: string): AnswerPart {
  return {
    name: path,
    subject: `the rows that "${path}" includes, each as often as it appears,`,
    advice: "Request a smaller page, give the relation a limit, or leave it out",
  };
}

/** The 422 for an answer with more bytes than are allowed. */
export function answerTooLarge(limit: number, { name, subject, advice }: AnswerPart): Problem {
  return new Problem(
    "query-too-expensive",
    `Cannot answer: ${subject} have more than ${limit} bytes. ${advice}`,
    { details: { limit, part: name } },
  );
}

/** The error of a read that ended at the limit of its bytes, as a problem that says what it read. */
export function namingPart(error: unknown, limit: number, part: AnswerPart): unknown {
  const isTooLarge = error instanceof DatabaseError && error.kind === "too-large";
  return isTooLarge ? answerTooLarge(limit, part) : error;
}

/**
 * Makes the function that counts the bytes of a row which the answer shows. A JSON document counts
 * with what its arrays and objects take in memory, which is many times its text where they are
 * empty or nested.
 */
export function shownBytes(
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

/** What an array or object takes at least. */
const bytesOfContainer = 32;
/** A shorter document takes little, whatever it holds. */
const shortDocument = 1_024;
const openBracket = 0x5b;
const openBrace = 0x7b;

/** Brackets in strings count as well: to leave them out would cost more. */
function containerBytes(document: SqlValue): number {
  if (typeof document !== "string" || document.length < shortDocument) return 0;
  let count = 0;
  for (let at = 0; at < document.length; at++) {
    const code = document.charCodeAt(at);
    if (code === openBracket || code === openBrace) count++;
  }
  return bytesOfContainer * count;
}

/** Counts rows that the answer shows once. Throws a 422 where they are too large. */
export function countRows(
  bytes: AnswerBytes,
  rows: readonly (readonly SqlValue[])[],
  bytesOf: (row: readonly SqlValue[]) => number,
  part: AnswerPart,
): void {
  for (const row of rows) bytes.left -= bytesOf(row);
  if (bytes.left < 0) throw answerTooLarge(bytes.limit, part);
}

/** A value of a group with its names. */
const bytesOfValue = 64;

/** About the bytes of the groups of an aggregate, which hold strings and numbers. */
export function bytesOfGroups(groups: readonly AggregateGroup[]): number {
  let bytes = 0;
  for (const { key, metrics } of groups) {
    bytes += bytesOfValue * (key.length + metrics.length);
    for (const value of key) if (typeof value === "string") bytes += value.length;
    for (const value of metrics) if (typeof value === "string") bytes += value.length;
  }
  return bytes;
}

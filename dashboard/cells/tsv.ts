import { type Draft, draftOf, type ReadDraft, readDraft } from "../row/draft.ts";
import type { FieldFacts } from "../service/facts.ts";

/**
 * A cell of a TSV text. Spreadsheets write quotes only around cells that need them, so a quoted
 * empty cell is the empty string, and an empty cell without quotes is NULL, as in CSV exports.
 */
export interface TsvCell {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** Returns the cells of rows as TSV. */
export function printTsv(rows: readonly (readonly TsvCell[])[]): string {
  return rows.map((cells) => cells.map(printCell).join("\t")).join("\n");
}

function printCell({ text, isQuoted }: TsvCell): string {
  return isQuoted || /["\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Reads the cells of a TSV or CSV text. A line break at the end is not a row. */
export function parseTsv(
  text: string,
  delimiter: "\t" | "," | ";" = "\t",
): readonly (readonly TsvCell[])[] {
  const rows: TsvCell[][] = [[]];
  const cell = new RegExp(
    `(?:"((?:[^"]|"")*)"|([^${delimiter}\\r\\n]*))(${delimiter}|\\r\\n|\\n|\\r|$)`,
    "gy",
  );
  for (let match = cell.exec(text); match !== null; match = cell.exec(text)) {
    const [all, quoted, plain = "", end] = match;
    rows.at(-1)?.push(
      quoted === undefined
        ? { text: plain, isQuoted: false }
        : { text: quoted.replaceAll('""', '"'), isQuoted: true },
    );
    if (end === "" || all === "") break;
    if (end !== delimiter) {
      if (cell.lastIndex === text.length) break;
      rows.push([]);
    }
  }
  return rows;
}

/** Returns a value of a row as a cell. */
export function tsvCellOf(value: unknown, field: FieldFacts): TsvCell {
  const { text, isNull } = draftOf(value, field);
  return { text, isQuoted: !isNull && text === "" };
}

/** Returns the draft that a cell means for a field. */
export function draftOfCell({ text, isQuoted }: TsvCell, field: FieldFacts): Draft {
  return { text, isNull: text === "" && !isQuoted && (field.nullable || field.type !== "text") };
}

/** Reads a cell as a value of the field. */
export function readCell(cell: TsvCell, field: FieldFacts): ReadDraft {
  const draft = draftOfCell(cell, field);
  if (draft.isNull && !field.nullable) return { problem: "must not be NULL" };
  const choices = field.type === "boolean" ? ["true", "false"] : field.enum ?? null;
  if (!draft.isNull && choices !== null && !choices.includes(draft.text)) {
    return { problem: `must be one of ${choices.join(", ")}` };
  }
  return readDraft(draft, field);
}

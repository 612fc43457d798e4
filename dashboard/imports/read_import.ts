import { parseTsv, readCell, type TsvCell } from "../cells/tsv.ts";
import type { FieldFacts } from "../service/facts.ts";
import type { Row } from "../service/resources.ts";

/** A text with a line of names, and a line for each row. */
export interface ImportedText {
  readonly names: readonly string[];
  readonly lines: readonly (readonly TsvCell[])[];
}

/** Reads CSV or TSV. The first line decides which delimiter the text has. */
export function readText(text: string): ImportedText {
  const plain = text.replace(/^\uFEFF/, "");
  const [first = ""] = plain.split(/[\r\n]/, 1);
  const delimiters = ["\t", ";", ","] as const;
  const counts = delimiters.map((one) => parseTsv(first, one)[0]?.length ?? 0);
  const delimiter = delimiters[counts.indexOf(Math.max(...counts))] ?? ",";
  const [names = [], ...lines] = parseTsv(plain, delimiter);
  return {
    names: names.map(({ text }) => text.trim()),
    lines: lines.filter((cells) => cells.some(({ text, isQuoted }) => text !== "" || isQuoted)),
  };
}

/** The field that each column of a text is written to, or null for a column that is left out. */
export type Mapping = readonly (string | null)[];

/** Maps columns to the fields with the same names, except for case, spaces and `_`. */
export function proposeMapping(names: readonly string[], fields: readonly FieldFacts[]): Mapping {
  const plain = (name: string) => name.toLowerCase().replace(/[\s_-]/g, "");
  const used = new Set<string>();
  return names.map((name) => {
    const field = fields.find((one) => one.name === name) ??
      fields.find((one) => plain(one.name) === plain(name));
    if (field === undefined || used.has(field.name)) return null;
    used.add(field.name);
    return field.name;
  });
}

/** A row of an import, or the problems of its values. */
export interface ImportedRow {
  readonly row: Row;
  readonly problems: readonly string[];
}

/**
 * Reads a line as a row. An empty cell leaves out a field that has a default or that cannot be
 * NULL, so that the service sets the field or reports it.
 */
export function readLine(
  cells: readonly TsvCell[],
  mapping: Mapping,
  fields: ReadonlyMap<string, FieldFacts>,
): ImportedRow {
  const values = new Map<string, unknown>();
  const problems: string[] = [];
  mapping.forEach((name, at) => {
    const field = name === null ? undefined : fields.get(name);
    const cell = cells[at];
    if (field === undefined || cell === undefined) return;
    const isEmpty = cell.text === "" && !cell.isQuoted;
    if (isEmpty && (field.default !== undefined || !field.nullable)) return;
    const read = readCell(cell, field);
    if ("problem" in read) problems.push(`${field.name} ${read.problem}`);
    else values.set(field.name, read.value);
  });
  for (const field of fields.values()) {
    if (field.required && !values.has(field.name)) problems.push(`${field.name} is required`);
  }
  return { row: Object.fromEntries(values), problems };
}

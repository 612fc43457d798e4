import { splitPath } from "./syntax/quoted_name.ts";
import { filterLimits } from "./syntax/filter_syntax.ts";
import { invalidParameter } from "../problem/problem.ts";
import { isExactNumber } from "../schema/exact_number.ts";
import { isDocument } from "../schema/structured/structured_value.ts";
import type { ColumnInfo } from "../schema/table_info.ts";
import { isJsonIndex, type JsonPath } from "../sql/json_path_dialect.ts";

export interface DocumentPath {
  readonly source: ColumnInfo;
  readonly path: JsonPath;
}

/** Returns null if `text` names no path in a JSON column. Throws a 400 if the path is too long. */
export function documentPathOf(
  text: string,
  columns: readonly ColumnInfo[],
): DocumentPath | null {
  const [name, ...path] = splitPath(text);
  const source = columns.find((column) => column.name === name);
  if (source === undefined || path.length === 0 || !isDocument(source)) return null;
  // Postgres cannot store U+0000, so no name in a document contains it.
  if (text.includes("\0")) return null;
  const { pathNames, pathIndexes } = filterLimits;
  if (path.length <= pathNames && path.filter(isJsonIndex).length <= pathIndexes) {
    return { source, path };
  }
  const limits = `${pathNames} names and ${pathIndexes} indexes within a document`;
  throw invalidParameter(`Cannot use so long a path: it may have ${limits} at most`);
}

/** The parts of a JSON document to return, by name. `parts` is null for the whole value. */
export type DocumentParts = readonly (readonly [name: string, parts: DocumentParts | null])[];

export function partsOfPaths(paths: readonly JsonPath[]): DocumentParts | null {
  if (paths.some((path) => path.length === 0)) return null;
  const inner = Map.groupBy(paths, ([name = ""]) => name);
  return [...inner].map(([name, some]) => [name, partsOfPaths(some.map((path) => path.slice(1)))]);
}

/** Returns only the selected values of a document. Elements of an array keep their positions. */
export function selectParts(document: unknown, parts: DocumentParts): unknown {
  if (typeof document !== "object" || document === null || isExactNumber(document)) return;
  const found = parts.flatMap(([name, inner]): (readonly [string, unknown])[] => {
    const isThere = Array.isArray(document) ? isJsonIndex(name) : true;
    // The cast is safe: the own properties of any object can be read by their names.
    const value = isThere && Object.hasOwn(document, name)
      ? (document as Readonly<Record<string, unknown>>)[name]
      : undefined;
    const part = inner === null ? value : selectParts(value, inner);
    return part === undefined ? [] : [[name, part]];
  });
  if (!Array.isArray(document)) return Object.fromEntries(found);
  const length = Math.max(0, ...found.map(([name]) => Number(name) + 1));
  const elements = new Map(found);
  return Array.from({ length }, (_, index) => elements.get(String(index)) ?? null);
}

import { formatKey, keyOf } from "../../plan/key.ts";
import type { Row } from "../../schema/table_info.ts";
import { highlight } from "../../search/highlight.ts";
import type { OpenIndex } from "../../search/open_index.ts";
import { textsOf } from "../../search/search_index.ts";
import type { SearchQuery } from "../../search/search_query.ts";
import { wordsOf } from "../../search/words.ts";
import type { Resource } from "../model/resource.ts";

/** The highlights of a search, by row id and field name: HTML in which `<em>` marks the words. */
export type Highlights = Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;

/**
 * Highlights the matches of a search in the rows that were just read, never in strings of the
 * index. Only searched fields are highlighted, and all of these are readable.
 */
export async function highlightRows(
  rows: readonly Row[],
  query: SearchQuery,
  { table, fields: { readable } }: Resource,
  { index: { fields }, backend }: OpenIndex,
): Promise<Highlights> {
  // Highlights are keyed by the primary key, so there are none if the caller cannot read the key.
  if (!table.primaryKey.every((column) => readable.includes(column))) return {};
  const texts = rows.map((row) => textsOf(row, fields));
  const words = new Set(texts.flatMap((one) => one.flatMap(wordsOf)));
  const matching = await backend.matchWords([...words], query);
  const highlights = rows.map((row, index) => {
    const marked = fields.flatMap(({ column }, field) => {
      const parts = highlight(texts[index]?.[field] ?? "", (word) => matching.has(word));
      return parts.length === 0 ? [] : [[column.name, parts] as const];
    });
    const key = keyOf(row, table);
    return [
      key.length === 1 ? String(key[0]) : formatKey(key),
      Object.fromEntries(marked),
    ] as const;
  });
  return Object.fromEntries(highlights);
}

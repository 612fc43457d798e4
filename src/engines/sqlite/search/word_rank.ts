import { type Fragment, join, rawSql, sql } from "../../../sql/fragment.ts";
import type { SearchQuery, SearchTerm } from "../../../search/search_query.ts";

/** The words of a field as a column, each between two spaces, and the weight of the field. */
export interface RankedField {
  readonly column: Fragment;
  readonly weight: number;
}

/** Returns the words of a document for {@link compileRank}, each between its own spaces. */
export function padWords(words: string): string {
  return words === "" ? "" : ` ${words.replaceAll(" ", "  ")} `;
}

/**
 * Compiles the rank of a document. The best document has the lowest rank. The formula is BM25
 * without its statistics of other documents, which would reveal the words of rows that the reader
 * may not see. The rank depends on how often the terms occur in the fields, on the weights of the
 * fields and on their lengths.
 */
export function compileRank({ terms }: SearchQuery, fields: readonly RankedField[]): Fragment {
  const length = join(fields.map(({ column }) => sql`length(${column})`), " + ");
  const half = sql`(${rawSql(`${saturation} + (`)}${length}${rawSql(`) / ${lengthScale}`)})`;
  const scores = phrasesOf(terms).map((phrase) => {
    const count = join(fields.map((field) => weightedCount(phrase, field)), " + ");
    return sql`${half} / (${half} + ${count})`;
  });
  return join(scores, " + ");
}

/** Compiles a condition for documents that contain all terms, by the indexed words only. */
export function compileContainsAllTerms(
  { terms }: SearchQuery,
  fields: readonly RankedField[],
): Fragment {
  const found = phrasesOf(terms).map((phrase) =>
    sql`(${join(fields.map(({ column }) => sql`instr(${column}, ${phrase}) > 0`), " OR ")})`
  );
  return join(found, " AND ");
}

/** Returns the terms as strings of words between spaces, the last one as a prefix. */
function phrasesOf(terms: readonly SearchTerm[]): readonly string[] {
  return terms.map(({ words }, index) =>
    ` ${words.join("  ")}${index === terms.length - 1 ? "" : " "}`
  );
}

function weightedCount(phrase: string, { column, weight }: RankedField): Fragment {
  const without = sql`length(replace(${column}, ${phrase}, '')))`;
  const each = rawSql(` * ${weight / [...phrase].length}`);
  return sql`(length(${column}) - ${without}${each}`;
}

/** The parameters k1 and b of BM25, for documents with an average of 200 characters. */
const saturation = 0.3;
const lengthScale = "222.0";

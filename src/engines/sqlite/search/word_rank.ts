import { type Fragment, join, rawSql, sql } from "../../../sql/fragment.ts";
import type { SearchQuery, SearchTerm } from "../../../search/search_query.ts";

/** A field's weight, and SQL for its words, each between two spaces. */
export interface RankedField {
  readonly column: Fragment;
  readonly weight: number;
}

/** Returns the words of a document, each between its own two spaces, for {@link compileRank}. */
export function padWords(words: string): string {
  return words === "" ? "" : ` ${words.replaceAll(" ", "  ")} `;
}

/**
 * Compiles the rank of a document. The best one has the lowest rank. The formula is BM25 without
 * statistics of other documents, because these would reveal words in rows that the user cannot
 * read. The rank depends on how often the terms occur in the fields, and on the fields' weights and
 * lengths.
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

/** Compiles a condition that a document contains all terms, which reads only the indexed words. */
export function compileContainsAllTerms(
  { terms }: SearchQuery,
  fields: readonly RankedField[],
): Fragment {
  const found = phrasesOf(terms).map((phrase) =>
    sql`(${join(fields.map(({ column }) => sql`instr(${column}, ${phrase}) > 0`), " OR ")})`
  );
  return join(found, " AND ");
}

/** Returns each term as its words with spaces around them. The last word can be a prefix. */
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

/** The parameters k1 and b of BM25, for documents of 200 characters on average. */
const saturation = 0.3;
const lengthScale = "222.0";

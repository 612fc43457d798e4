import { type Fragment, join, rawSql, sql } from "../../../sql/fragment.ts";
import type { SearchQuery, SearchTerm } from "../../../search/search_query.ts";

/** A column of words, each with a space before and after it, and how much they count. */
export interface RankedField {
  readonly column: Fragment;
  readonly weight: number;
}

/** The words of a document as {@link compileRank} counts them: no two of them share a space. */
export function markWords(words: string): string {
  return words === "" ? "" : ` ${words.replaceAll(" ", "  ")} `;
}

/**
 * The rank of a document, the least first, by the formula of BM25 without the parts that look at
 * other documents: they reveal which words stand in rows that the reader may not see. It depends on
 * how often the terms stand in the fields, by their weights, and on how long these are.
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

/** A condition for the documents that have all terms, of which nothing but their words is read. */
export function compileFound({ terms }: SearchQuery, fields: readonly RankedField[]): Fragment {
  const found = phrasesOf(terms).map((phrase) =>
    sql`(${join(fields.map(({ column }) => sql`instr(${column}, ${phrase}) > 0`), " OR ")})`
  );
  return join(found, " AND ");
}

/** The terms as they stand in marked words, the last one as a prefix. */
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

/** k1 and b of BM25, where documents have 200 characters on average. */
const saturation = 0.3;
const lengthScale = "222.0";

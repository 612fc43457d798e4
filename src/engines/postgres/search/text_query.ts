import { type Fragment, join, sql } from "../../../sql/fragment.ts";
import type { SearchQuery } from "../../../search/search_query.ts";

/**
 * A search as a `tsquery`: all terms, each a phrase, the last word of all as a prefix. No function
 * that it uses can fail for a text, and stop words are left out.
 */
export function compileTextQuery({ terms }: SearchQuery, language: Fragment): Fragment {
  const phrases = terms.map(({ words }) => sql`phraseto_tsquery(${language}, ${words.join(" ")})`);
  const last = phrases.at(-1);
  if (last === undefined) throw new Error("A search has a term");
  return join([...phrases.slice(0, -1), withPrefix(last)], " && ");
}

/** A query that finds any of the words, the last one as a prefix. */
export function compileAnyWord({ terms }: SearchQuery, language: Fragment): Fragment {
  const words = terms.flatMap((term) => term.words);
  const queries = words.map((word, index) => {
    const query = sql`phraseto_tsquery(${language}, ${word})`;
    return index === words.length - 1 ? withPrefix(query) : query;
  });
  return join(queries, " || ");
}

/** The lexemes of a query are quoted in its text: only the mark of a prefix is added to the last. */
function withPrefix(query: Fragment): Fragment {
  return sql`coalesce((nullif(${query}::text, '') || ':*')::tsquery, ''::tsquery)`;
}

import { type Fragment, join, sql } from "../../../sql/fragment.ts";
import type { SearchQuery } from "../../../search/search_query.ts";

/**
 * Compiles a search to a `tsquery`: all terms, each a phrase, and the last word as a prefix. No
 * function in the query can fail, whatever the strings are. Stop words are omitted.
 */
export function compileTextQuery({ terms }: SearchQuery, language: Fragment): Fragment {
  const phrases = terms.map(({ words }) => sql`phraseto_tsquery(${language}, ${words.join(" ")})`);
  const last = phrases.at(-1);
  if (last === undefined) throw new Error("A search has a term");
  return join([...phrases.slice(0, -1), withPrefix(last)], " && ");
}

/** Returns a query that finds any of the words, the last one as a prefix. */
export function compileAnyWord({ terms }: SearchQuery, language: Fragment): Fragment {
  const words = terms.flatMap((term) => term.words);
  const queries = words.map((word, index) => {
    const query = sql`phraseto_tsquery(${language}, ${word})`;
    return index === words.length - 1 ? withPrefix(query) : query;
  });
  return join(queries, " || ");
}

/** Marks the last lexeme of a query as a prefix. Lexemes are quoted in the text of a query. */
function withPrefix(query: Fragment): Fragment {
  return sql`coalesce((nullif(${query}::text, '') || ':*')::tsquery, ''::tsquery)`;
}

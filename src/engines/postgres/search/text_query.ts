import { type Fragment, join, sql } from "../../../sql/fragment.ts";
import type { SearchQuery } from "../../../search/search_query.ts";

/** Compiles a search to a `tsquery` of all terms. The last word is a prefix. No string fails. */
export function compileTsQuery({ terms }: SearchQuery, language: Fragment): Fragment {
  const phrases = terms.map(({ words }) => sql`phraseto_tsquery(${language}, ${words.join(" ")})`);
  const last = phrases.at(-1);
  if (last === undefined) throw new Error("A search has a term");
  return join([...phrases.slice(0, -1), withPrefix(last)], " && ");
}

/** Returns a `tsquery` that finds any of the words, the last one as a prefix. */
export function compileAnyWord({ terms }: SearchQuery, language: Fragment): Fragment {
  const words = terms.flatMap((term) => term.words);
  const queries = words.map((word, index) => {
    const query = sql`phraseto_tsquery(${language}, ${word})`;
    return index === words.length - 1 ? withPrefix(query) : query;
  });
  return join(queries, " || ");
}

/** Marks the last lexeme of a `tsquery` as a prefix, in its text form, which quotes lexemes. */
function withPrefix(query: Fragment): Fragment {
  return sql`coalesce((nullif(${query}::text, '') || ':*')::tsquery, ''::tsquery)`;
}

import type { SearchField } from "../search_index.ts";
import type { SearchQuery, SearchTerm } from "../search_query.ts";

type Clause = Record<string, unknown>;

/** Returns a field name from a column's position: OpenSearch rejects some column names. */
export function fieldName(position: number): string {
  return `f${position}`;
}

export const wordsFieldMapping: Clause = {
  type: "text",
  analyzer: "whitespace",
  // Frequent words of other users' documents must not influence the ranking.
  similarity: "boolean",
  norms: false,
  // Prefixes of up to 19 characters are indexed. For a longer prefix, all matching words are read.
  index_prefixes: { min_chars: 1, max_chars: 19 },
};

/** Converts a search to a query: each term must occur, and the last word may be a prefix. */
export function fieldQuery({ terms }: SearchQuery, fields: readonly SearchField[]): Clause {
  const must = terms.map((term, index) => {
    const isLast = index === terms.length - 1;
    const should = fields.flatMap(({ weight }, position) =>
      (isLast ? prefixClauses : phraseClauses)(term, fieldName(position), weight)
    );
    return { bool: { should, minimum_should_match: 1 } };
  });
  return { bool: { must } };
}

function phraseClauses({ words }: SearchTerm, field: string, boost: number): readonly Clause[] {
  const value = { query: words.join(" "), boost };
  return words.length === 1
    ? [{ match: { [field]: value } }]
    : [{ match_phrase: { [field]: value } }];
}

/** Returns the clauses for a prefix. A clause adds the same score to all documents it matches. */
function prefixClauses(term: SearchTerm, field: string, boost: number): readonly Clause[] {
  const { words } = term;
  if (words.length > 1) {
    const value = { query: words.join(" "), boost, max_expansions: maxExpansions };
    return [{ match_phrase_prefix: { [field]: value } }];
  }
  return [
    ...phraseClauses(term, field, boost),
    { prefix: { [field]: { value: words[0] ?? "", boost: boost * prefixBoost } } },
  ];
}

/** Practically unlimited. With a limit, the results would depend on the words of other users. */
const maxExpansions = 2_147_483_647;
const prefixBoost = 0.1;

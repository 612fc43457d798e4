import type { SearchField } from "../search_index.ts";
import type { SearchQuery, SearchTerm } from "../search_query.ts";

type Clause = Record<string, unknown>;

/**
 * Returns the name of the document field for a column position, because a column name may be
 * invalid in OpenSearch.
 */
export function fieldName(position: number): string {
  return `f${position}`;
}

/** The OpenSearch mapping of a field. */
export const wordsField: Clause = {
  type: "text",
  analyzer: "whitespace",
  // Frequencies of words in all documents must not affect the order of a user's documents.
  similarity: "boolean",
  norms: false,
  // An indexed prefix is looked up like a word. Other prefixes need a read of all their words.
  index_prefixes: { min_chars: 1, max_chars: 19 },
};

/**
 * Returns a search as a query of OpenSearch: every term in any of the fields, and the last word as
 * a prefix. No part of the query is parsed, so no word is an operator.
 */
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

/** Returns the clauses for a prefix, which has the same score in all documents. */
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

/**
 * The prefix at the end of a phrase may match any number of words. With a limit, words of other
 * users would affect the hits.
 */
const maxExpansions = 2_147_483_647;
const prefixBoost = 0.1;

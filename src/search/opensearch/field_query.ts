import type { SearchField } from "../search_index.ts";
import type { SearchQuery, SearchTerm } from "../search_query.ts";

type Clause = Record<string, unknown>;

/** Returns the field name for a column position, because OpenSearch rejects some column names. */
export function fieldName(position: number): string {
  return `f${position}`;
}

export const wordsFieldMapping: Clause = {
  type: "text",
  analyzer: "whitespace",
  // Frequencies of words in all documents must not affect the order of a user's documents.
  similarity: "boolean",
  norms: false,
  // Prefixes of up to 19 letters are indexed. For longer ones, all words with the prefix are read.
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

/** A prefix may match any number of words. With a limit, other users' words would affect hits. */
const maxExpansions = 2_147_483_647;
const prefixBoost = 0.1;

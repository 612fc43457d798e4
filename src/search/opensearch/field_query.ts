import type { SearchField } from "../search_index.ts";
import type { SearchQuery, SearchTerm } from "../search_query.ts";

type Clause = Record<string, unknown>;

/** The name of a field in documents; those of columns may be anything. */
export function fieldName(position: number): string {
  return `f${position}`;
}

/** The mapping of a field. */
export const wordsField: Clause = {
  type: "text",
  analyzer: "whitespace",
  // How often a word stands in all documents must not order those that a user may read.
  similarity: "boolean",
  norms: false,
  // A prefix is looked up as a word: else all words of all documents that begin with it are.
  index_prefixes: { min_chars: 1, max_chars: 19 },
};

/**
 * A search as a query of OpenSearch: every term in any of the fields, the last word of all as a
 * prefix. None of its parts has a syntax of its own, so that no word is an operator.
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

/** The prefix itself has the same score for every document: whole words score by themselves. */
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

/** The end of a phrase may become any word: with a limit, words of others would take the places. */
const maxExpansions = 2_147_483_647;
const prefixBoost = 0.1;

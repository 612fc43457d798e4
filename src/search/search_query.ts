import { Problem } from "../problem/problem.ts";
import { wordsOf } from "./words.ts";

/** One term of a search: a part of `q` between spaces that contains at least one word. */
export interface SearchTerm {
  /** The words of the term in lower case, without diacritics. They are adjacent in a match. */
  readonly words: readonly string[];
}

/** A parsed search. A match contains every term, and a word that begins with the last word. */
export interface SearchQuery {
  /** The terms, at least one. Without a usable term, no engine is called and no row is found. */
  readonly terms: readonly SearchTerm[];
}

const maxLength = 1_000;
const maxTerms = 32;

/**
 * Parses the parameter `q`: plain words, in which quotes and operators have no meaning. Returns
 * null if `q` has no word. Throws a 400 if `q` is missing, empty or too long.
 */
export function parseSearchQuery(q: string | undefined): SearchQuery | null {
  if (q === undefined || q.trim() === "") {
    throw refused("q is missing: write the words to find, as in ?q=tea");
  }
  if (q.length > maxLength) throw refused(`q has more than ${maxLength} characters`);
  const terms = q.split(/\s+/u).map(wordsOf).filter((words) => words.length > 0)
    .map((words) => ({ words }));
  if (terms.length > maxTerms) throw refused(`q has more than ${maxTerms} words`);
  return terms.length === 0 ? null : { terms };
}

/** Returns the words of a string that match the query. The last word of the query is a prefix. */
export function wordsAsWritten(
  words: readonly string[],
  { terms }: SearchQuery,
): ReadonlySet<string> {
  const wanted = new Set(terms.flatMap((term) => term.words));
  const last = terms.at(-1)?.words.at(-1);
  return new Set(
    words.filter((word) => wanted.has(word) || (last !== undefined && word.startsWith(last))),
  );
}

function refused(message: string): Problem {
  return new Problem("invalid-parameter", `Cannot search: ${message}`);
}

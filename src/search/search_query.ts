import { Problem } from "../problem/problem.ts";
import { wordsOf } from "./words.ts";

/** A term: a part of the parameter `q`, between spaces, with at least one word. */
export interface SearchTerm {
  /** The words in lower case, without diacritics. In a match, they follow each other directly. */
  readonly words: readonly string[];
}

/** A parsed search. A match contains every term; the last word only needs to begin a word. */
export interface SearchQuery {
  /** At least one term. Without any term, no engine is called and nothing is found. */
  readonly terms: readonly SearchTerm[];
}

const maxLength = 1_000;
const maxTerms = 32;

/**
 * Parses the parameter `q`: plain words, without meaning of quotes or operators. Returns null if
 * `q` has no word. Throws a 400 if `q` is missing, empty or too long.
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

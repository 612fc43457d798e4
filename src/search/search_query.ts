import { Problem } from "../problem/problem.ts";
import { wordsOf } from "./words.ts";

/** One term of a search: a part of `q` between spaces that holds a word at least. */
export interface SearchTerm {
  /** Its words, folded; they stand next to each other in what it finds. Never empty. */
  readonly words: readonly string[];
}

/** What a search looks for: documents that hold every term, the last word of all as a prefix. */
export interface SearchQuery {
  /** Never empty: without a usable term nothing is found, and no engine is asked. */
  readonly terms: readonly SearchTerm[];
}

const maxLength = 1_000;
const maxTerms = 32;

/**
 * Parses the parameter `q`: plain words, in which quotes and operators are text. Null if it has
 * no word. Throws a 400 where it is missing, empty or too long.
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

/** The words that a query finds where it finds them as they are written, the last one as a prefix. */
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

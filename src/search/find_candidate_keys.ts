import type { Connection } from "../db/driver.ts";
import { fetchFound, fetchRows } from "../db/rows.ts";
import type { Filter } from "../filter/filter.ts";
import { type Key, keyId, keyOf } from "../plan/key.ts";
import type { SearchPlan } from "../plan/plan.ts";
import { Problem } from "../problem/problem.ts";
import { type Fragment, identifier, join, sql } from "../sql/fragment.ts";
import { matchKeyColumn, matchRankColumn } from "../sql/match_names.ts";
import { type IndexBackend, maxSearchKeys } from "./search_adapter.ts";
import type { SearchIndex } from "./search_index.ts";
import type { SearchQuery } from "./search_query.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { Dialect, ListNames } from "../sql/dialect.ts";

export interface SearchedReads {
  /** The filter of rows that the user may read. The condition of `plan` includes this filter. */
  readonly scope: Filter;
  readonly connection: Connection;
  readonly plan: Omit<SearchPlan, "matches">;
  readonly signal: AbortSignal;
}

interface SearchedIndex {
  readonly index: SearchIndex;
  readonly backend: Pick<IndexBackend, "find">;
}

/**
 * Returns the keys that an engine outside of the database finds, best first. The caller must still
 * apply the scope, which the engine cannot evaluate. If the scope is small, `few` is a SELECT of
 * all its keys and perhaps other keys, and the engine searches only rows in scope. If `few` is
 * null, the engine searches all rows. If that search finds more than one page, the engine searches
 * again within the rows in scope, or, if these rows are too many, the database filters each page by
 * the scope. Rejects with a 503 if no engine responds, and with a 422 above `maxCandidates` rows.
 */
export async function findCandidateKeys(
  searched: SearchedIndex,
  query: SearchQuery,
  reads: SearchedReads,
  few: Fragment | null,
): Promise<readonly Key[]> {
  if (few !== null) {
    const matches = sql`SELECT *, 0 AS ${matchRankColumn} FROM (${few}) AS "_few"`;
    const within = await readable(matches, maxSearchKeys, searched, reads);
    return unique(await Array.fromAsync(pagesOf(searched, within, query, reads)), searched.index);
  }
  const pages = pagesOf(searched, null, query, reads);
  const first = await pages.next();
  if (first.done) return [];
  const second = await pages.next();
  if (second.done) return unique([first.value], searched.index);
  const within = await keysInScope(searched, reads);
  if (within !== null) {
    return unique(await Array.fromAsync(pagesOf(searched, within, query, reads)), searched.index);
  }
  const found = [
    ...await keepReadable(first.value, searched, reads),
    ...await keepReadable(second.value, searched, reads),
  ];
  for await (const keys of pages) {
    found.push(...await keepReadable(keys, searched, reads));
    if (found.length > maxCandidates) {
      throw new Problem(
        "query-too-expensive",
        `Cannot search: more than ${maxCandidates} rows that you may read have these words. Search ` +
          "for more words",
        { details: { limit: maxCandidates } },
      );
    }
  }
  return unique([found], searched.index);
}

/** Maximum number of found rows. For an exact total, each search reads all keys of found rows. */
const maxCandidates = 100_000;

async function* pagesOf(
  { backend }: SearchedIndex,
  within: readonly Key[] | null,
  query: SearchQuery,
  { signal }: SearchedReads,
): AsyncGenerator<readonly Key[], undefined> {
  if (backend.find === undefined) throw new Error("An index outside of the database is searched");
  try {
    yield* backend.find(query, within, signal);
  } catch (cause) {
    signal.throwIfAborted();
    throw searchUnavailable("the search index does not answer", cause);
  }
}

async function keysInScope(
  { index: { table, reader } }: SearchedIndex,
  { connection, plan: { where } }: SearchedReads,
): Promise<readonly Key[] | null> {
  const { rows } = await fetchRows(connection, {
    kind: "read",
    table,
    columns: table.primaryKey,
    where,
    order: [],
    after: null,
    limit: maxSearchKeys + 1,
  }, reader);
  return rows.length > maxSearchKeys ? null : rows.map((row) => keyOf(row, table));
}

function keepReadable(
  keys: readonly Key[],
  searched: SearchedIndex,
  reads: SearchedReads,
): Promise<readonly Key[]> {
  const { table, reader } = searched.index;
  return readable(selectCandidateKeys(keys, table, reader.dialect), keys.length, searched, reads);
}

async function readable(
  matches: Fragment,
  limit: number,
  { index: { table, reader } }: SearchedIndex,
  { connection, plan: { where } }: SearchedReads,
): Promise<readonly Key[]> {
  const { rows } = await fetchFound(
    connection,
    { kind: "search", table, columns: table.primaryKey, where, matches, limit, offset: 0 },
    reader,
    () => {},
  );
  return rows.map((row) => keyOf(row, table));
}

/** Removes duplicate keys: a document that changes during a search can be on two pages. */
function unique(pages: readonly (readonly Key[])[], { table }: SearchIndex): readonly Key[] {
  return [...new Map(pages.flat().map((key) => [keyId(key, table), key])).values()];
}

export function searchUnavailable(reason: string, cause?: unknown): Problem {
  return new Problem("search-unavailable", `Cannot search now: ${reason}`, {
    cause,
    headers: { "retry-after": "2" },
  });
}

/** Returns a SELECT of found keys, ranked by place in the list. The keys are bound as one value. */
export function selectCandidateKeys(
  keys: readonly Key[],
  { primaryKey }: TableInfo,
  dialect: Dialect,
): Fragment {
  const names: ListNames = {
    list: identifier("_list"),
    ordinal: identifier("_at"),
    values: primaryKey.map((_column, index) => identifier(`_value${index}`)),
    rank: identifier("_rank"),
  };
  const encoded = keys.map((key) =>
    primaryKey.map((column, index) => dialect.encode(key[index], column))
  );
  const selected = names.values.map((value, index) => sql`${value} AS ${matchKeyColumn(index)}`);
  return sql`SELECT ${join(selected, ", ")}, ${names.ordinal} AS ${matchRankColumn} FROM ${
    dialect.listed(encoded, primaryKey, primaryKey, names)
  } AS ${names.list}`;
}

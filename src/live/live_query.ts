import type { RowReader } from "../db/rows.ts";
import { canonicalFilterText } from "../filter/canonical_filter.ts";
import type { Filter } from "../filter/filter.ts";
import type { InMemoryMatcher } from "../filter/match/in_memory_matcher.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { LiveView } from "./live_view.ts";

/** The query of a live stream of rows: its table, its filter and its view. */
export interface LiveQuery {
  /** The path of the resource. Two resources can serve the same table in different ways. */
  readonly resource: string;
  readonly table: TableInfo;
  readonly reader: RowReader;
  /** The scope, the request's filter and the condition "not deleted", combined by AND. */
  readonly filter: Filter;
  readonly view: LiveView;
}

/** A live query, and a function that evaluates its filter for a row in memory. */
export interface CompiledLiveQuery {
  readonly query: LiveQuery;
  readonly decide: InMemoryMatcher;
}

/** Returns a key. Live queries with equal keys send rows in the same form. */
export function viewKey({ resource, view }: Pick<LiveQuery, "resource" | "view">): string {
  return `${resource} ${view.key}`;
}

/** Returns a key. Live queries with equal keys send the same rows in the same form. */
export function liveQueryKey(query: LiveQuery): string {
  return JSON.stringify([viewKey(query), canonicalFilterText(query.filter)]);
}

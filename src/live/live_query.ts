import type { RowReader } from "../db/rows.ts";
import { canonicalFilterText } from "../filter/canonical_filter.ts";
import type { Filter } from "../filter/filter.ts";
import type { InMemoryMatcher } from "../filter/match/in_memory_matcher.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { LiveView } from "./live_view.ts";

/** The query of a live stream of rows: its table, its filter, and how the rows are shown. */
export interface LiveQuery {
  /** Where the resource is mounted: one table may be served twice. */
  readonly resource: string;
  readonly table: TableInfo;
  readonly reader: RowReader;
  /** Scope, filter of the request and "not deleted", as one. */
  readonly filter: Filter;
  readonly view: LiveView;
}

/** A live query whose filter is compiled for memory, as far as it gives the database's answers. */
export interface CompiledLiveQuery {
  readonly query: LiveQuery;
  readonly decide: InMemoryMatcher;
}

/** A string that two live queries share only when they show rows alike. */
export function viewKey({ resource, view }: Pick<LiveQuery, "resource" | "view">): string {
  return `${resource} ${view.key}`;
}

/** The identity of a live query: a string that two share only when they show the same rows alike. */
export function liveQueryKey(query: LiveQuery): string {
  return JSON.stringify([viewKey(query), canonicalFilterText(query.filter)]);
}

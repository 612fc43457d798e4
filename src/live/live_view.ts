import type { Grant } from "../auth/authorize.ts";
import type { Filter, Related } from "../filter/filter.ts";
import type { OrderKey } from "../plan/plan.ts";
import type { Row, TableInfo } from "../schema/table_info.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { ScopedRequest } from "./stream/scope_recheck.ts";
import type { RowReader } from "../db/rows.ts";
import { canonicalFilterText } from "../filter/canonical_filter.ts";
import type { InMemoryMatcher } from "../filter/match/in_memory_matcher.ts";

/** How a live stream shows rows. Created by the resource, which removes hidden values. */
export interface LiveView {
  /** Views of one resource with equal keys show rows in the same form. */
  readonly key: string;
  /** A key that is equal for views that differ only in the rights to the included rows. */
  readonly shape: string;
  /** True if rows and ids contain numbers beyond 2^53 in a form that JavaScript reads exactly. */
  readonly safeNumbers: boolean;
  readonly shown: readonly ShownRelation[];
  readonly rights: readonly ViewRight[];
  /** Returns rows as clients see them; only the first rows if too many related rows are needed. */
  present(rows: readonly Row[], identity: string): MaybePromise<readonly Row[]>;
}

export interface ShownRelation extends Pick<Related, "relation" | "filter" | "links"> {
  /** True if the including table has an index for the relation, and a primary key without NULL. */
  readonly isIndexed: boolean;
  readonly shown: readonly ShownRelation[];
}

export interface ViewRight extends ScopedRequest {
  readonly grant: Grant | null;
  regranted(grant: Grant | null): LiveView;
}

export const noRowsShown: LiveView = Object.freeze({
  key: "",
  shape: "",
  safeNumbers: false,
  shown: [],
  rights: [],
  present: () => [],
});

export interface LiveQuery {
  readonly resource: string;
  readonly table: TableInfo;
  readonly reader: RowReader;
  readonly filter: Filter;
  readonly view: LiveView;
}

/** A window: the first `limit` rows in `order`, which ends with the primary key. */
export interface WindowQuery {
  readonly order: readonly OrderKey[];
  readonly limit: number;
}

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

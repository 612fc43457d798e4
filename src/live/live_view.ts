import type { Grant } from "../auth/authorize.ts";
import type { Filter } from "../filter/filter.ts";
import type { Relation } from "../schema/relation.ts";
import type { Row } from "../schema/table_info.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { ScopedRequest } from "./stream/scope_recheck.ts";

/**
 * The view of rows in a live stream: the shown columns and relations, and their format. The
 * resource creates the view, because only the resource masks values.
 */
export interface LiveView {
  /** Views of one resource with the same key send rows in the same form and share event bytes. */
  readonly key: string;
  /** A key that is equal for views that differ only in the rights to included rows. */
  readonly shape: string;
  /** True if rows and their ids use the safe form for numbers beyond 2^53. */
  readonly safeNumbers: boolean;
  readonly shown: readonly ShownRelation[];
  /** The rights that determine which related rows are included. */
  readonly rights: readonly ViewRight[];
  /**
   * Converts whole rows to shown rows in the same order. Returns a promise only if it must read. If
   * too many related rows would have to be read, the result contains only the first rows, at least
   * one. Reads are queued under `identity`, the user or the address of the stream.
   */
  present(rows: readonly Row[], identity: string): MaybePromise<readonly Row[]>;
}

/** A relation whose rows are included in a live view. */
export interface ShownRelation {
  readonly relation: Relation;
  /** The filter of the target table. It determines the included rows. */
  readonly filter: Filter;
  /** The filter of the link table of a `manyToMany` relation. */
  readonly links: Filter;
  /** True if an index can find the rows that include a related row, by keys that are never NULL. */
  readonly isIndexed: boolean;
  /** The relations that the included rows include in turn. */
  readonly shown: readonly ShownRelation[];
}

/** The right of a live view to included rows of another resource. */
export interface ViewRight extends ScopedRequest {
  /** The subscriber's right. Without a right (null), no row of that resource is included. */
  readonly grant: Grant | null;
  regranted(grant: Grant | null): LiveView;
}

/** The live view that shows no rows, for aggregates. It shows no rows. */
export const noRowsShown: LiveView = Object.freeze({
  key: "",
  shape: "",
  safeNumbers: false,
  shown: [],
  rights: [],
  present: () => [],
});

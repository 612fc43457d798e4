import type { Grant } from "../auth/authorize.ts";
import type { Filter } from "../filter/filter.ts";
import type { Relation } from "../schema/relation.ts";
import type { Row } from "../schema/table_info.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { ScopedRequest } from "./stream/scope_recheck.ts";

/**
 * The view of rows in a live stream: which columns and relations it shows, and how; handed in by
 * the resource, which alone masks them.
 */
export interface LiveView {
  /** Views of one resource with the same key show rows alike, so that their frames are shared. */
  readonly key: string;
  /** The same for views that differ only in the rights to included rows. */
  readonly shape: string;
  /** True if rows and their ids are in the safe form of numbers. */
  readonly safeNumbers: boolean;
  /** The included relations. */
  readonly shown: readonly ShownRelation[];
  /** The rights that decide which related rows are included. */
  readonly rights: readonly ViewRight[];
  /**
   * Whole rows → the rows as they are shown, in the same order. A promise only where it must read.
   * Where too many related rows would be read at once, it shows only the first rows, at least one.
   * The reads take the turns of `identity`, the user or the address that they are for.
   */
  present(rows: readonly Row[], identity: string): MaybePromise<readonly Row[]>;
}

/** A relation whose rows are included in a live view. */
export interface ShownRelation {
  readonly relation: Relation;
  /** Over its target: which of the related rows are included. */
  readonly filter: Filter;
  /** Over the link table of `manyToMany`. */
  readonly links: Filter;
  /** True if an index finds the including rows, and no primary key of theirs is NULL. */
  readonly isIndexed: boolean;
  /** The relations that its rows include in turn. */
  readonly shown: readonly ShownRelation[];
}

/** The right to included rows of another resource that a live view needs. */
export interface ViewRight extends ScopedRequest {
  /** Null if the subscriber has none: then no row of that resource is included. */
  readonly grant: Grant | null;
  /** The view with another grant. */
  regranted(grant: Grant | null): LiveView;
}

/** The live view of aggregates, which show no row. */
export const noRowsShown: LiveView = Object.freeze({
  key: "",
  shape: "",
  safeNumbers: false,
  shown: [],
  rights: [],
  present: () => [],
});

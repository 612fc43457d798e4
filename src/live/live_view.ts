import type { Grant } from "../auth/authorize.ts";
import type { Filter } from "../filter/filter.ts";
import type { Relation } from "../schema/relation.ts";
import type { Row } from "../schema/table_info.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { ScopedRequest } from "./stream/scope_recheck.ts";

/** How rows are shown to a subscriber; handed in by the resource, which alone masks. */
export interface LiveView {
  /** Views of one resource with the same key show rows alike, so that their frames are shared. */
  readonly key: string;
  /** The same for views that differ in nothing but the rights to what is shown under the rows. */
  readonly shape: string;
  /** What is shown under the rows. */
  readonly shown: readonly ShownRelation[];
  /** The rights that decide about what is shown under them. */
  readonly rights: readonly ViewRight[];
  /**
   * Whole rows → what is shown of them, in the same order. A promise only where it must read. Where
   * too much would be read at once, it shows but the first of them, and at least one.
   */
  present(rows: readonly Row[]): MaybePromise<readonly Row[]>;
}

/** A relation whose rows are shown under others. */
export interface ShownRelation {
  readonly relation: Relation;
  /** Over its target: which of the related rows are shown. */
  readonly filter: Filter;
  /** Over the link table of `manyToMany`. */
  readonly links: Filter;
  /** Whether an index finds the rows that it begins at, and no primary key of theirs is NULL. */
  readonly isIndexed: boolean;
  /** What is shown under its rows in turn. */
  readonly shown: readonly ShownRelation[];
}

/** A right to the rows of another resource that a view was made by. */
export interface ViewRight extends ScopedRequest {
  /** Null where the subscriber has none: then nothing of that resource is shown. */
  readonly grant: Grant | null;
  /** The view as it is by another right. */
  regranted(grant: Grant | null): LiveView;
}

/** For those who are shown what was made of rows, and no row. */
export const noRowsShown: LiveView = Object.freeze({
  key: "",
  shape: "",
  shown: [],
  rights: [],
  present: () => [],
});

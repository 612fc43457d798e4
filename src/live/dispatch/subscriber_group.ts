import type { Position } from "../../db/changes/change_log.ts";
import type { RowReader } from "../../db/rows.ts";
import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import type { InMemoryMatcher } from "../../filter/match/in_memory_matcher.ts";
import type { Filter } from "../../filter/filter.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { type ColumnMask, columnsReadBy } from "../match/column_mask.ts";
import type { InvalidationReason } from "./server_sent_events.ts";
import type { GroupHeldRows } from "./group_held_rows.ts";
import type { HeldRows } from "../match/held_rows.ts";
import type { Transition } from "../match/row_change.ts";
import type { IncludeGroup } from "./include_group.ts";
import type { LiveView } from "../live_view.ts";
import type { IncludePath } from "../match/include_path.ts";

/** Which rows somebody follows, and how they are shown. */
export interface LiveQuery {
  /** Where the resource is mounted: one table may be served twice. */
  readonly resource: string;
  readonly table: TableInfo;
  readonly reader: RowReader;
  /** Scope, filter of the request and "not deleted", as one. */
  readonly filter: Filter;
  readonly view: LiveView;
}

/** Somebody who is told of rows. */
export interface GroupListener {
  /** Must begin anew. */
  invalidate(reason: InvalidationReason): void;
  /** Can be told nothing more, because of an error of ours. */
  fail(error: unknown): void;
}

/** A subscriber who reads live. */
export interface LiveSubscriber extends GroupListener {
  /** Takes bytes that are shared with others; `to` is null where the step goes on. */
  deliver(bytes: Uint8Array, to: Position | null): void;
}

/** Somebody who makes something else of the rows than frames. */
export interface TransitionListener extends GroupListener {
  /** Takes what happened to the rows, in order; a step may come in parts. Never throws. */
  receive(events: readonly Transition[]): void;
}

/** The subscribers who see the same: what is done for one is done for all. */
export class SubscriberGroup {
  readonly key: string;
  /** Shared with those who show rows alike. */
  readonly viewKey: string;
  /** What makes a position a token of this group. */
  readonly queryDigest: string;
  readonly query: LiveQuery;
  /** With whom it shares what is shown under its rows; null where nothing is. */
  readonly includeGroup: IncludeGroup | null;
  /** What its live readers hold; null where a row alone decides whether it passes. */
  readonly heldRows: GroupHeldRows | null;
  /** From the rows that its filter walks to back to its own. */
  includePaths: readonly IncludePath[];
  readonly #liveSubscribers: Set<LiveSubscriber> = new Set();
  readonly transitionListeners: Set<TransitionListener> = new Set();
  /** The columns that decide it. */
  readonly columnsRead: ColumnMask;
  /** How memory decides which rows they see. */
  decide: InMemoryMatcher;
  /** How many there are in all. */
  size = 0;

  /** Nobody is in it yet. */
  constructor(
    query: LiveQuery,
    { decide, includePaths, includeGroup, queryDigest, heldRows }: Pick<
      SubscriberGroup,
      "decide" | "includePaths" | "includeGroup" | "queryDigest" | "heldRows"
    >,
  ) {
    this.key = liveQueryKey(query);
    this.viewKey = viewKey(query);
    this.queryDigest = queryDigest;
    this.query = query;
    this.columnsRead = columnsReadBy(query.filter, query.table);
    this.decide = decide;
    this.includePaths = includePaths;
    this.includeGroup = includeGroup;
    this.heldRows = heldRows;
  }

  /** Those who read live; the others catch up by themselves. */
  get liveSubscribers(): ReadonlySet<LiveSubscriber> {
    return this.#liveSubscribers;
  }

  /**
   * Whether rows are told as they are now, once for each step, because more than their own changes
   * decides what is told of them.
   */
  get isSentByStep(): boolean {
    return this.includeGroup !== null || this.heldRows !== null;
  }

  /** One more reads live; `held` is what it holds, where that is kept. */
  join(subscriber: LiveSubscriber, held: HeldRows | null): void {
    if (this.heldRows !== null && held !== null) {
      this.heldRows.join(subscriber, held, this.#liveSubscribers);
    }
    this.#liveSubscribers.add(subscriber);
  }

  /** One reads live no more; gives what stays known of what it holds. */
  leave(subscriber: LiveSubscriber): HeldRows | null {
    if (!this.#liveSubscribers.delete(subscriber)) return null;
    return this.heldRows?.leave(subscriber, this.#liveSubscribers) ?? null;
  }

  /** Whether anybody is to be told of anything. */
  get hasListeners(): boolean {
    return this.#liveSubscribers.size > 0 || this.transitionListeners.size > 0;
  }

  /** All who are to be told, as they are now. */
  listeners(): readonly GroupListener[] {
    return [...this.#liveSubscribers, ...this.transitionListeners];
  }
}

/** A text that two interests share only when they show rows alike. */
export function viewKey({ resource, view }: Pick<LiveQuery, "resource" | "view">): string {
  return `${resource} ${view.key}`;
}

/** A text that two interests share only when they show the same. */
export function liveQueryKey(query: LiveQuery): string {
  return JSON.stringify([viewKey(query), canonicalFilterText(query.filter)]);
}

import type { InMemoryMatcher } from "../../filter/match/in_memory_matcher.ts";
import { type CompiledLiveQuery, type LiveQuery, liveQueryKey, viewKey } from "../live_query.ts";
import type { AffectedGroup } from "../match/affected_parents.ts";
import { type ColumnMask, columnsReadBy } from "../match/column_mask.ts";
import type { HeldRows } from "../match/held_rows.ts";
import type { IncludePath } from "../match/include_path.ts";
import type { GroupHeldRows } from "./group_held_rows.ts";
import type { GroupListener, LiveSubscriber, TransitionListener } from "./group_listener.ts";
import type { InvalidationReason } from "./server_sent_events.ts";

/** The group of all subscribers of one live query: what is computed for one serves all of them. */
export class SubscriberGroup implements CompiledLiveQuery, AffectedGroup {
  readonly key: string;
  /** Shared with the groups that show rows alike. */
  readonly viewKey: string;
  /** Seals the resume tokens of this group. */
  readonly queryDigest: string;
  readonly query: LiveQuery;
  /** Shared with the groups that show the same related rows; null if none are shown. */
  readonly includeGroup: AffectedGroup | null;
  /** The rows that its live subscribers hold; null if a row alone decides whether it passes. */
  readonly heldRows: GroupHeldRows | null;
  /** From the related rows that its filter reads back to its own rows. */
  includePaths: readonly IncludePath[];
  readonly transitionListeners: Set<TransitionListener> = new Set();
  readonly #liveSubscribers: Set<LiveSubscriber> = new Set();
  /** The columns that its filter reads. */
  readonly columnsRead: ColumnMask;
  /** How memory decides whether a row passes its filter. */
  decide: InMemoryMatcher;
  /** The number of its subscribers, live or not, and of its listeners. */
  size = 0;

  /** Begins without subscribers. */
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

  /** The subscribers that read live; the others catch up by themselves. */
  get liveSubscribers(): ReadonlySet<LiveSubscriber> {
    return this.#liveSubscribers;
  }

  /**
   * True if rows are sent as they are now, once for each step, because more than their own changes
   * decides which events they have.
   */
  get isSentByStep(): boolean {
    return this.includeGroup !== null || this.heldRows !== null;
  }

  /** Adds a subscriber that reads live; `held` are the rows that it holds, where that is kept. */
  join(subscriber: LiveSubscriber, held: HeldRows | null): void {
    if (this.heldRows !== null && held !== null) {
      this.heldRows.join(subscriber, held, this.#liveSubscribers);
    }
    this.#liveSubscribers.add(subscriber);
  }

  /** Removes one that reads live; returns what stays known of the rows that it holds. */
  leave(subscriber: LiveSubscriber): HeldRows | null {
    if (!this.#liveSubscribers.delete(subscriber)) return null;
    return this.heldRows?.leave(subscriber, this.#liveSubscribers) ?? null;
  }

  /** True if any listener is to receive anything. */
  get hasListeners(): boolean {
    return this.#liveSubscribers.size > 0 || this.transitionListeners.size > 0;
  }

  /** All listeners at this moment. */
  listeners(): readonly GroupListener[] {
    return [...this.#liveSubscribers, ...this.transitionListeners];
  }

  /** All live subscribers and listeners must read the rows again. */
  invalidate(reason: InvalidationReason): void {
    for (const listener of this.listeners()) listener.invalidate(reason);
  }
}

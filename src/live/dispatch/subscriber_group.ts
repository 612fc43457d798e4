import type { InMemoryMatcher } from "../../filter/match/in_memory_matcher.ts";
import { type CompiledLiveQuery, type LiveQuery, liveQueryKey, viewKey } from "../live_query.ts";
import type { AffectedGroup } from "../match/affected_parents.ts";
import { type ColumnMask, columnsReadBy } from "../match/column_mask.ts";
import type { HeldRows } from "../match/held_rows.ts";
import type { IncludePath } from "../match/include_path.ts";
import type { GroupHeldRows } from "./group_held_rows.ts";
import type { GroupListener, LiveSubscriber, TransitionListener } from "./group_listener.ts";
import type { InvalidationReason } from "./server_sent_events.ts";

/** All members with the same live query. They share the evaluation of changes and the events. */
export class SubscriberGroup implements CompiledLiveQuery, AffectedGroup {
  readonly key: string;
  /** A key that is equal for groups that send rows in the same form, whatever their filters are. */
  readonly viewKey: string;
  /** The digest of the live query. Resume tokens are bound to it. */
  readonly queryDigest: string;
  readonly query: LiveQuery;
  /** The include group, or null if the streams of this group include no related rows. */
  readonly includeGroup: AffectedGroup | null;
  /** The rows that the subscribers' clients hold, or null if the filter reads no related rows. */
  readonly heldRows: GroupHeldRows | null;
  /** The relations from the related rows that the filter reads back to the group's own rows. */
  includePaths: readonly IncludePath[];
  readonly transitionListeners: Set<TransitionListener> = new Set();
  readonly #liveSubscribers: Set<LiveSubscriber> = new Set();
  readonly columnsRead: ColumnMask;
  /** Evaluates the filter for a row in memory; returns null if only the database can do so. */
  decide: InMemoryMatcher;
  /** Number of members: live subscribers, subscribers that catch up, and transition listeners. */
  size = 0;

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

  /** The subscribers that have caught up with the feed. Others read the changes themselves. */
  get liveSubscribers(): ReadonlySet<LiveSubscriber> {
    return this.#liveSubscribers;
  }

  /** True if events are created once for each log step, because they combine several changes. */
  get isSentByStep(): boolean {
    return this.includeGroup !== null || this.heldRows !== null;
  }

  /** Adds a live subscriber. `held` are its client's rows, or null if they are not tracked. */
  join(subscriber: LiveSubscriber, held: HeldRows | null): void {
    if (this.heldRows !== null && held !== null) {
      this.heldRows.join(subscriber, held, this.#liveSubscribers);
    }
    this.#liveSubscribers.add(subscriber);
  }

  /** Removes a live subscriber. Returns what is still known of its client's rows, or null. */
  leave(subscriber: LiveSubscriber): HeldRows | null {
    if (!this.#liveSubscribers.delete(subscriber)) return null;
    return this.heldRows?.leave(subscriber, this.#liveSubscribers) ?? null;
  }

  get hasListeners(): boolean {
    return this.#liveSubscribers.size > 0 || this.transitionListeners.size > 0;
  }

  listeners(): readonly GroupListener[] {
    return [...this.#liveSubscribers, ...this.transitionListeners];
  }

  /** Makes all live subscribers and transition listeners read their rows again. */
  invalidate(reason: InvalidationReason): void {
    for (const listener of this.listeners()) listener.invalidate(reason);
  }
}

import type { InMemoryMatcher } from "../../filter/match/in_memory_matcher.ts";
import { type CompiledLiveQuery, type LiveQuery, liveQueryKey, viewKey } from "../live_query.ts";
import type { AffectedGroup } from "../match/affected_parents.ts";
import { type ColumnMask, columnsReadBy } from "../match/column_mask.ts";
import type { HeldRows } from "../match/held_rows.ts";
import type { IncludePath } from "../match/include_path.ts";
import type { GroupHeldRows } from "./group_held_rows.ts";
import type { GroupListener, LiveSubscriber, TransitionListener } from "./group_listener.ts";
import type { InvalidationReason } from "./server_sent_events.ts";

/** The group of all subscribers of one live query, which share its computations. */
export class SubscriberGroup implements CompiledLiveQuery, AffectedGroup {
  readonly key: string;
  /** A key that is equal for groups that send rows in the same form. */
  readonly viewKey: string;
  /** The digest of the live query, from which the seals of resume tokens are computed. */
  readonly queryDigest: string;
  readonly query: LiveQuery;
  /** The object that groups with the same included rows share, or null without included rows. */
  readonly includeGroup: AffectedGroup | null;
  /** The rows that the live subscribers hold, or null if the filter reads no related rows. */
  readonly heldRows: GroupHeldRows | null;
  /** The paths from the related rows that the filter reads back to the group's rows. */
  includePaths: readonly IncludePath[];
  readonly transitionListeners: Set<TransitionListener> = new Set();
  readonly #liveSubscribers: Set<LiveSubscriber> = new Set();
  /** The columns that the filter reads. */
  readonly columnsRead: ColumnMask;
  /** Decides in memory whether a row matches the filter. */
  decide: InMemoryMatcher;
  /** Number of subscribers, live or not, and of transition listeners. */
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

  /** The subscribers that are live. All other subscribers catch up separately. */
  get liveSubscribers(): ReadonlySet<LiveSubscriber> {
    return this.#liveSubscribers;
  }

  /** True if events are sent once for each step, because they depend on more than one change. */
  get isSentByStep(): boolean {
    return this.includeGroup !== null || this.heldRows !== null;
  }

  /** Adds a live subscriber. `held` are the rows that it holds, or null if they are not tracked. */
  join(subscriber: LiveSubscriber, held: HeldRows | null): void {
    if (this.heldRows !== null && held !== null) {
      this.heldRows.join(subscriber, held, this.#liveSubscribers);
    }
    this.#liveSubscribers.add(subscriber);
  }

  /** Removes a live subscriber. Returns what is still known of the rows that it holds. */
  leave(subscriber: LiveSubscriber): HeldRows | null {
    if (!this.#liveSubscribers.delete(subscriber)) return null;
    return this.heldRows?.leave(subscriber, this.#liveSubscribers) ?? null;
  }

  /** True if any listener receives events. */
  get hasListeners(): boolean {
    return this.#liveSubscribers.size > 0 || this.transitionListeners.size > 0;
  }

  listeners(): readonly GroupListener[] {
    return [...this.#liveSubscribers, ...this.transitionListeners];
  }

  /** Makes all live subscribers and listeners read the rows again. */
  invalidate(reason: InvalidationReason): void {
    for (const listener of this.listeners()) listener.invalidate(reason);
  }
}

import type { InMemoryMatcher } from "../../filter/match/in_memory_matcher.ts";
import {
  type CompiledLiveQuery,
  type LiveQuery,
  liveQueryKey,
  type ShownRelation,
  viewKey,
} from "../live_view.ts";
import type { AffectedGroup } from "../match/affected_parents.ts";
import type { HeldRows } from "../match/held_rows.ts";
import { type IncludePath, reverseRelation } from "../match/search_parents.ts";
import type { GroupHeldRows } from "./group_held_rows.ts";
import type { GroupListener, LiveSubscriber, TransitionListener } from "./group_listener.ts";
import { eventRowId, eventText, type InvalidationReason } from "./server_sent_events.ts";
import { EqualityIndex } from "../match/equality_index.ts";
import { type ColumnMask, columnsReadBy, type Matcher } from "../match/matcher.ts";
import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import { allRows, type Filter } from "../../filter/filter.ts";
import { includePathsOfFilter, type PathEnd, pathTo } from "../match/may_affect_filter.ts";
import type { Row } from "../../schema/table_info.ts";
import { chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import { type RowChange, rowChangeKey, type Transition } from "../match/row_change.ts";

/** The streams and shared results of one live query. They share evaluation and events. */
export class SubscriberGroup implements CompiledLiveQuery, AffectedGroup {
  readonly key: string;
  /** Groups that send rows in the same form have equal keys, whatever their filters are. */
  readonly viewKey: string;
  /** The digest of the live query, to which resume tokens are bound. */
  readonly queryDigest: string;
  readonly query: LiveQuery;
  /** All groups that include the same related rows; null if this group includes no related rows. */
  readonly includeGroup: AffectedGroup | null;
  /** The rows that the subscribers' clients hold, or null if the filter reads no related rows. */
  readonly heldRows: GroupHeldRows | null;
  /** The relations that lead from the related rows in the filter back to the group's own rows. */
  includePaths: readonly IncludePath[];
  readonly transitionListeners: Set<TransitionListener> = new Set();
  readonly #liveSubscribers: Set<LiveSubscriber> = new Set();
  readonly columnsRead: ColumnMask;
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

  /** The subscribers that have caught up. All other subscribers read the changes themselves. */
  get liveSubscribers(): ReadonlySet<LiveSubscriber> {
    return this.#liveSubscribers;
  }

  /** True if all changes of a log read are rendered together, because related rows must be read. */
  get isSentByStep(): boolean {
    return this.includeGroup !== null || this.heldRows !== null;
  }

  join(subscriber: LiveSubscriber, held: HeldRows | null): void {
    if (this.heldRows !== null && held !== null) {
      this.heldRows.join(subscriber, held, this.#liveSubscribers);
    }
    this.#liveSubscribers.add(subscriber);
  }

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

  invalidate(reason: InvalidationReason): void {
    for (const listener of this.listeners()) listener.invalidate(reason);
  }
}

/** Groups with equal included rows and rights share the search for parents of changed rows. */
export class IncludeGroup implements AffectedGroup {
  readonly query: Pick<LiveQuery, "resource" | "table" | "reader" | "view">;
  readonly #matcher: Matcher;
  readonly #groups: Set<SubscriberGroup> = new Set();
  readonly #index: EqualityIndex<SubscriberGroup>;
  #includePaths: readonly IncludePath[];

  constructor(query: IncludeGroup["query"], matcher: Matcher) {
    this.query = query;
    this.#matcher = matcher;
    this.#index = new EqualityIndex(matcher.isCertain);
    this.#includePaths = includePathsOfView(query.view.shown, matcher);
  }

  get groups(): ReadonlySet<SubscriberGroup> {
    return this.#groups;
  }

  get index(): Pick<EqualityIndex<SubscriberGroup>, "visit"> {
    return this.#index;
  }

  get includePaths(): readonly IncludePath[] {
    return this.#includePaths;
  }

  get hasListeners(): boolean {
    for (const { hasListeners } of this.#groups) if (hasListeners) return true;
    return false;
  }

  add(group: SubscriberGroup): void {
    this.#groups.add(group);
    this.#index.add(group);
  }

  remove(group: SubscriberGroup): void {
    this.#groups.delete(group);
    this.#index.remove(group);
  }

  /** Compiles the filters again, because fewer operators are now evaluated in memory. */
  recompile(): void {
    this.#includePaths = includePathsOfView(this.query.view.shown, this.#matcher);
    for (const group of this.#groups) {
      this.#index.remove(group);
      this.#index.add(group);
    }
  }
}

function includePathsOfView(
  shown: readonly ShownRelation[],
  matcher: Matcher,
): readonly IncludePath[] {
  return pathsBelow(shown, { name: [], where: allRows, parentSteps: [] }, matcher);
}

interface Parents extends PathEnd {
  readonly where: Filter;
}

function pathsBelow(
  shown: readonly ShownRelation[],
  parents: Parents,
  matcher: Matcher,
): readonly IncludePath[] {
  return shown.flatMap(({ relation, filter, links, isIndexed, shown }) => {
    const { where } = parents;
    const name = [
      ...parents.name,
      canonicalFilterText(where),
      relation.name,
      canonicalFilterText(links),
    ];
    const { fromTarget, fromLinks } = reverseRelation(relation);
    const parentSteps = [
      { relation: fromTarget, where, links, isIndexed },
      ...parents.parentSteps,
    ];
    const end = { name, parentSteps };
    const paths: IncludePath[] = [
      pathTo(end, { table: relation.target, decide: matcher.compile(filter), mayMatter: null }),
      // The filter of an included relation can read other related rows, whose changes matter, too.
      ...includePathsOfFilter(filter, end, matcher),
      ...pathsBelow(shown, { ...end, where: filter }, matcher),
    ];
    if (fromLinks === null) return paths;
    const linked = {
      name: [...name, ""],
      parentSteps: [
        { relation: fromLinks, where, links: allRows, isIndexed },
        ...parents.parentSteps,
      ],
    };
    return [
      ...paths,
      pathTo(linked, { table: fromLinks.owner, decide: matcher.compile(links), mayMatter: null }),
      ...includePathsOfFilter(links, linked, matcher),
    ];
  });
}

/** Renders each event of a batch once for a view, even if groups with different filters send it. */
export class EventRenderer {
  readonly #interest: Pick<LiveQuery, "table" | "view">;
  readonly #seq: number | null;
  readonly #rows = new Set<Row>();
  readonly #shown = new Map<Row, Row>();
  /** The error of each row that cannot be shown. The error ends only the streams with that row. */
  readonly #errors = new Map<Row, unknown>();
  /** True if some rows could not be converted, because too many related rows had to be read. */
  isIncomplete = false;
  readonly #texts: Readonly<Record<Transition["kind"], Map<RowChange, string>>> = {
    added: new Map(),
    changed: new Map(),
    removed: new Map(),
  };

  constructor(query: Pick<LiveQuery, "table" | "view">, seq: number | null) {
    this.#interest = query;
    this.#seq = seq;
  }

  add({ kind, rowChange: { after } }: Transition): void {
    if (kind !== "removed" && after !== null) this.#rows.add(after.row);
  }

  /** Converts the rows of {@link add} for clients. Reads count against the limits of `identity`. */
  prepare(identity: string): MaybePromise<void> {
    const rows = [...this.#rows];
    if (rows.length === 0) return;
    let presented: MaybePromise<readonly Row[]>;
    try {
      presented = this.#interest.view.present(rows, identity);
    } catch {
      return this.#prepareEach(rows, identity);
    }
    return chain(presented, (shown) => {
      this.isIncomplete = shown.length < rows.length;
      rows.forEach((row, index) => this.#shown.set(row, shown[index] ?? {}));
    });
  }

  /** Converts each row separately, so that an error affects only one row. */
  #prepareEach(rows: readonly Row[], identity: string): MaybePromise<void> {
    const waiting = rows.map(async (row) => {
      try {
        const [shown = {}] = await this.#interest.view.present([row], identity);
        this.#shown.set(row, shown);
      } catch (error) {
        this.#errors.set(row, error);
      }
    });
    return Promise.all(waiting).then(() => {});
  }

  /** Returns the text of an event. {@link prepare} must have converted the row. */
  text({ kind, rowChange }: Transition): string {
    const texts = this.#texts[kind];
    const known = texts.get(rowChange);
    if (known !== undefined) return known;
    const text = eventText(kind, this.#dataOf(kind, rowChange));
    texts.set(rowChange, text);
    return text;
  }

  #dataOf(kind: Transition["kind"], rowChange: RowChange): Readonly<Record<string, unknown>> {
    const { after, optimisticId } = rowChange;
    const seq = this.#seq ?? rowChange.seq;
    const id = eventRowId(rowChangeKey(rowChange, this.#interest.table), this.#interest);
    const named = optimisticId === null ? null : { _optimisticId: optimisticId };
    if (kind === "removed") return { seq, id, ...named };
    if (after !== null && this.#errors.has(after.row)) throw this.#errors.get(after.row);
    const item = after === null ? {} : this.#shown.get(after.row) ?? {};
    return { seq, id, item: named === null ? item : { ...item, ...named } };
  }
}

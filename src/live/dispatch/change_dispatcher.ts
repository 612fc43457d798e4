import type { Change } from "../../db/changes/change_log.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { ChangeBatch } from "../feed/change_feed.ts";
import { type LiveQuery, liveQueryKey, viewKey } from "../live_view.ts";
import { EqualityIndex } from "../match/equality_index.ts";
import { includePathsOfFilter, ownRowsEnd, relatedTables } from "../match/may_affect_filter.ts";
import { rowChangesOf } from "../match/row_change.ts";
import { BatchDispatch, type DispatchOptions } from "./batch_dispatch.ts";
import { FanOut } from "./batch_delivery.ts";
import { GroupHeldRows } from "./group_held_rows.ts";
import type { InvalidationReason } from "./server_sent_events.ts";
import { IncludeGroup, SubscriberGroup } from "./subscriber_group.ts";

interface TableGroups {
  readonly own: Set<SubscriberGroup>;
  /** Finds the groups whose filters a row can match, by their equalities such as `ownerId==7`. */
  readonly index: EqualityIndex<SubscriberGroup>;
  readonly dependent: Set<SubscriberGroup>;
  readonly includeGroups: Set<IncludeGroup>;
}

export class ChangeDispatcher {
  readonly #options: DispatchOptions;
  readonly #groups = new Map<string, SubscriberGroup>();
  readonly #tables = new Map<TableInfo, TableGroups>();
  readonly #includeGroups = new Map<string, IncludeGroup>();
  readonly #fanOut = new FanOut();

  constructor(options: DispatchOptions) {
    this.#options = options;
  }

  enter(query: LiveQuery): SubscriberGroup {
    const key = liveQueryKey(query);
    const group = this.#groups.get(key) ?? this.#open(key, query);
    group.size++;
    return group;
  }

  leave(group: SubscriberGroup): void {
    group.size--;
    if (group.size > 0) return;
    const { query: { table, filter } } = group;
    this.#groups.delete(group.key);
    const { own, index } = this.#tableGroups(table);
    own.delete(group);
    index.remove(group);
    const related = relatedTables(filter);
    for (const other of related) this.#tableGroups(other).dependent.delete(group);
    const included = this.#leaveIncludeGroup(group);
    for (const one of [table, ...related, ...included]) this.#forgetTable(one);
  }

  get isDelivering(): boolean {
    return this.#fanOut.isUnderway;
  }

  invalidateAll(reason: InvalidationReason): void {
    for (const group of this.#groups.values()) group.invalidate(reason);
  }

  /** After a wrong result in memory: compiles filters again, restarts the streams of `table`. */
  recompile(table: TableInfo): void {
    const { matcher } = this.#options;
    for (const group of this.#groups.values()) {
      const { filter } = group.query;
      group.decide = matcher.compile(filter);
      group.includePaths = includePathsOfFilter(filter, ownRowsEnd, matcher);
      const { index } = this.#tableGroups(group.query.table);
      index.remove(group);
      index.add(group);
    }
    for (const includeGroup of this.#includeGroups.values()) includeGroup.recompile();
    for (const group of this.#groups.values()) {
      if (group.query.table === table) group.invalidate("server_reset");
    }
  }

  publish(batch: ChangeBatch): MaybePromise<void> {
    const dispatch = new BatchDispatch(this.#options, batch, this.#fanOut);
    for (const change of batch.changes) {
      const groups = this.#tables.get(change.table);
      if (groups !== undefined) match(change, groups, dispatch);
    }
    return dispatch.finish();
  }

  #open(key: string, query: LiveQuery): SubscriberGroup {
    const { matcher, resumeTokens } = this.#options;
    const { table, filter, view } = query;
    const includeGroup = view.shown.length === 0 ? null : this.#includeGroup(query);
    const includePaths = includePathsOfFilter(filter, ownRowsEnd, matcher);
    const group = new SubscriberGroup(query, {
      decide: matcher.compile(filter),
      includePaths,
      includeGroup,
      heldRows: includePaths.length === 0 ? null : new GroupHeldRows(),
      queryDigest: resumeTokens.digestOf(query),
    });
    this.#groups.set(key, group);
    includeGroup?.add(group);
    const { own, index } = this.#tableGroups(table);
    own.add(group);
    index.add(group);
    for (const one of relatedTables(filter)) this.#tableGroups(one).dependent.add(group);
    return group;
  }

  #includeGroup(query: LiveQuery): IncludeGroup {
    const key = viewKey(query);
    const known = this.#includeGroups.get(key);
    if (known !== undefined) return known;
    const includeGroup = new IncludeGroup(query, this.#options.matcher);
    this.#includeGroups.set(key, includeGroup);
    for (const { table } of includeGroup.includePaths) {
      this.#tableGroups(table).includeGroups.add(includeGroup);
    }
    return includeGroup;
  }

  #leaveIncludeGroup(group: SubscriberGroup): readonly TableInfo[] {
    const includeGroup = this.#includeGroups.get(group.viewKey);
    if (group.includeGroup === null || includeGroup === undefined) return [];
    includeGroup.remove(group);
    if (includeGroup.groups.size > 0) return [];
    this.#includeGroups.delete(group.viewKey);
    const tables = includeGroup.includePaths.map(({ table }) => table);
    for (const table of tables) this.#tableGroups(table).includeGroups.delete(includeGroup);
    return tables;
  }

  #tableGroups(table: TableInfo): TableGroups {
    const known = this.#tables.get(table);
    if (known !== undefined) return known;
    const groups: TableGroups = {
      own: new Set(),
      index: new EqualityIndex(this.#options.matcher.isCertain),
      dependent: new Set(),
      includeGroups: new Set(),
    };
    this.#tables.set(table, groups);
    return groups;
  }

  #forgetTable(table: TableInfo): void {
    const groups = this.#tables.get(table);
    if (groups === undefined) return;
    const { own, dependent, includeGroups } = groups;
    if (own.size + dependent.size + includeGroups.size === 0) this.#tables.delete(table);
  }
}

function match(
  change: Change,
  { own, index, dependent, includeGroups }: TableGroups,
  dispatch: BatchDispatch,
): void {
  for (const group of dependent) dispatch.matchRelated(group, change);
  for (const includeGroup of includeGroups) {
    if (includeGroup.hasListeners) dispatch.matchIncluded(includeGroup, change);
  }
  if (change.kind === "truncate" || change.kind === "touch") {
    const reason = change.kind === "truncate" ? "truncated" : "untracked_write";
    for (const group of own) dispatch.invalidate(group, reason);
    return;
  }
  // `matchRow` handles the errors of one group. Any other error ends all streams of the table.
  dispatch.isolate(own, () => {
    for (const rowChange of rowChangesOf(change)) {
      index.visit(rowChange, (group) => {
        if (group.hasListeners) dispatch.matchRow(group, rowChange);
      });
    }
  });
}

import type { Change } from "../../db/changes/change_log.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { FanOut } from "./fan_out.ts";
import type { ChangeBatch } from "../feed/change_feed.ts";
import type { InvalidationReason } from "./server_sent_events.ts";
import { type LiveQuery, liveQueryKey, SubscriberGroup, viewKey } from "./subscriber_group.ts";
import { EqualityIndex } from "../match/equality_index.ts";
import { GroupHeldRows } from "./group_held_rows.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { rowChangesOf } from "../match/row_change.ts";
import { relatedTables } from "../match/may_affect_filters.ts";
import { includePathsOfFilter, ownRows } from "../match/include_paths_of_filter.ts";
import { BatchDispatch, type DispatchOptions, invalidate } from "./batch_dispatch.ts";
import { IncludeGroup } from "./include_group.ts";
import { includePathsOfView } from "../match/include_path.ts";

/** Whom the changes of one table concern. */
interface TableGroups {
  /** Those who follow it. */
  readonly own: Set<SubscriberGroup>;
  readonly index: EqualityIndex;
  /** Those whose filters walk to it. */
  readonly dependent: Set<SubscriberGroup>;
  /** Those who show its rows under theirs. */
  readonly includeGroups: Set<IncludeGroup>;
}

/** Brings every change to the groups that it concerns, and to nobody else. */
export class ChangeDispatcher {
  readonly #options: DispatchOptions;
  readonly #groups = new Map<string, SubscriberGroup>();
  readonly #tables = new Map<TableInfo, TableGroups>();
  readonly #includeGroups = new Map<string, IncludeGroup>();
  readonly #fanOut = new FanOut();

  /** Nobody follows anything yet. */
  constructor(options: DispatchOptions) {
    this.#options = options;
  }

  /** The group of an interest, with one more in it. */
  enter(query: LiveQuery): SubscriberGroup {
    const key = liveQueryKey(query);
    const group = this.#groups.get(key) ?? this.#open(key, query);
    group.size++;
    return group;
  }

  /** One less in a group; the last one takes it along. */
  leave(group: SubscriberGroup): void {
    group.size--;
    if (group.size > 0) return;
    const { query: { table, filter }, includeGroup } = group;
    this.#groups.delete(group.key);
    const { own, index } = this.#tableGroups(table);
    own.delete(group);
    index.remove(group);
    const behind = relatedTables([filter]);
    for (const other of behind) this.#tableGroups(other).dependent.delete(group);
    const beneath = includeGroup === null ? [] : this.#leaveIncludeGroup(group, includeGroup);
    for (const one of [table, ...behind, ...beneath]) this.#forgetTable(one);
  }

  /** Whether some readers know of a step of which others are still to hear. */
  get isDelivering(): boolean {
    return this.#fanOut.isUnderway;
  }

  /** Tells everybody to begin anew. */
  invalidateAll(reason: InvalidationReason): void {
    for (const group of this.#groups.values()) invalidate(group, reason);
  }

  /** Decides anew, and tells everybody who follows a table to begin anew: memory has erred. */
  recompile(table: TableInfo): void {
    for (const includeGroup of this.#includeGroups.values()) {
      includeGroup.includePaths = includePathsOfView(
        includeGroup.query.view.shown,
        this.#options.matcher,
      );
    }
    for (const group of this.#groups.values()) {
      group.decide = this.#options.matcher.compile(group.query.filter);
      group.includePaths = includePathsOfFilter(group.query.filter, ownRows, this.#options.matcher);
      const { index } = this.#tableGroups(group.query.table);
      for (const one of [index, group.includeGroup?.index]) {
        one?.remove(group);
        one?.add(group);
      }
      if (group.query.table === table) invalidate(group, "server_reset");
    }
  }

  /** Delivers a tick. Waits only where the database must decide, or related rows are loaded. */
  publish(batch: ChangeBatch): MaybePromise<void> {
    const dispatch = new BatchDispatch(this.#options, batch, this.#fanOut);
    for (const change of batch.changes) {
      const groups = this.#tables.get(change.table);
      if (groups !== undefined) this.#route(change, groups, dispatch);
    }
    return dispatch.finish();
  }

  #open(key: string, query: LiveQuery): SubscriberGroup {
    const { matcher, log, resumeTokens } = this.#options;
    const { table, filter, view } = query;
    const includeGroup = view.shown.length === 0 ? null : this.#includeGroup(query);
    const decide = matcher.compile(filter);
    const includePaths = includePathsOfFilter(filter, ownRows, matcher);
    const heldRows = includePaths.length === 0 ? null : new GroupHeldRows(log);
    const group = new SubscriberGroup(query, {
      decide,
      includePaths,
      includeGroup,
      heldRows,
      queryDigest: resumeTokens.digestOf(query),
    });
    this.#groups.set(key, group);
    includeGroup?.groups.add(group);
    includeGroup?.index.add(group);
    const { own, index } = this.#tableGroups(table);
    own.add(group);
    index.add(group);
    for (const one of relatedTables([filter])) this.#tableGroups(one).dependent.add(group);
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

  /** The tables that nobody shows any more. */
  #leaveIncludeGroup(group: SubscriberGroup, includeGroup: IncludeGroup): readonly TableInfo[] {
    includeGroup.groups.delete(group);
    includeGroup.index.remove(group);
    if (includeGroup.groups.size > 0) return [];
    this.#includeGroups.delete(viewKey(includeGroup.query));
    const tables = includeGroup.includePaths.map(({ table }) => table);
    for (const table of tables) this.#tableGroups(table).includeGroups.delete(includeGroup);
    return tables;
  }

  #route(
    change: Change,
    { own, index, dependent, includeGroups }: TableGroups,
    dispatch: BatchDispatch,
  ): void {
    for (const group of dependent) dispatch.matchRelated(group, change);
    for (const includeGroup of includeGroups) {
      if (includeGroup.hasLiveSubscribers) dispatch.matchIncluded(includeGroup, change);
    }
    if (change.kind === "truncate" || change.kind === "touch") {
      const reason = change.kind === "truncate" ? "truncated" : "untracked_write";
      for (const group of own) dispatch.invalidate(group, reason);
      return;
    }
    for (const rowChange of rowChangesOf(change)) {
      index.visit(rowChange, (group) => {
        if (group.hasListeners) dispatch.matchRow(group, rowChange);
      });
    }
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

import type { Change } from "../../db/changes/change_log.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { FanOut } from "./fan_out.ts";
import type { Tick } from "../feed/change_feed.ts";
import type { InvalidationReason } from "./server_sent_events.ts";
import { groupKey, type Interest, SubscriberGroup, viewKey } from "./subscriber_group.ts";
import { GroupIndex } from "./group_index.ts";
import { RowsOfGroup } from "./rows_of_group.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { rowChangesOf } from "../match/row_change.ts";
import { tablesReachedBy } from "../match/relation_reach.ts";
import { includePathsAlong, ownRows } from "../match/relation_paths.ts";
import { invalidate, TickDispatch, type TickDispatchOptions } from "./tick_dispatch.ts";
import { IncludeGroup } from "./include_group.ts";
import { includePathsOf } from "../match/include_path.ts";

/** Whom the changes of one table concern. */
interface TableGroups {
  /** Those who follow it. */
  readonly own: Set<SubscriberGroup>;
  readonly index: GroupIndex;
  /** Those whose filters walk to it. */
  readonly dependent: Set<SubscriberGroup>;
  /** Those who show its rows under theirs. */
  readonly includeGroups: Set<IncludeGroup>;
}

/** Brings every change to the groups that it concerns, and to nobody else. */
export class ChangeDispatcher {
  readonly #options: TickDispatchOptions;
  readonly #groups = new Map<string, SubscriberGroup>();
  readonly #tables = new Map<TableInfo, TableGroups>();
  readonly #includeGroups = new Map<string, IncludeGroup>();
  readonly #fanOut = new FanOut();

  /** Nobody follows anything yet. */
  constructor(options: TickDispatchOptions) {
    this.#options = options;
  }

  /** The group of an interest, with one more in it. */
  enter(interest: Interest): SubscriberGroup {
    const key = groupKey(interest);
    const group = this.#groups.get(key) ?? this.#open(key, interest);
    group.size++;
    return group;
  }

  /** One less in a group; the last one takes it along. */
  leave(group: SubscriberGroup): void {
    group.size--;
    if (group.size > 0) return;
    const { interest: { table, filter }, includeGroup } = group;
    this.#groups.delete(group.key);
    const { own, index } = this.#tableGroups(table);
    own.delete(group);
    index.remove(group);
    const behind = tablesReachedBy([filter]);
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
      includeGroup.includePaths = includePathsOf(
        includeGroup.reading.view.shown,
        this.#options.matcher,
      );
    }
    for (const group of this.#groups.values()) {
      group.decide = this.#options.matcher.compile(group.interest.filter);
      group.includePaths = includePathsAlong(group.interest.filter, ownRows, this.#options.matcher);
      const { index } = this.#tableGroups(group.interest.table);
      for (const one of [index, group.includeGroup?.index]) {
        one?.remove(group);
        one?.add(group);
      }
      if (group.interest.table === table) invalidate(group, "server_reset");
    }
  }

  /** Delivers a tick. Waits only where the database must decide, or related rows are loaded. */
  publish(tick: Tick): MaybePromise<void> {
    const dispatch = new TickDispatch(this.#options, tick, this.#fanOut);
    for (const change of tick.changes) {
      const groups = this.#tables.get(change.table);
      if (groups !== undefined) this.#route(change, groups, dispatch);
    }
    return dispatch.finish();
  }

  #open(key: string, interest: Interest): SubscriberGroup {
    const { matcher, log, resumeTokens } = this.#options;
    const { table, filter, view } = interest;
    const includeGroup = view.shown.length === 0 ? null : this.#includeGroup(interest);
    const decide = matcher.compile(filter);
    const includePaths = includePathsAlong(filter, ownRows, matcher);
    const rows = includePaths.length === 0 ? null : new RowsOfGroup(log);
    const group = new SubscriberGroup(interest, {
      decide,
      includePaths,
      includeGroup,
      rows,
      resumeToken: resumeTokens.of(interest),
    });
    this.#groups.set(key, group);
    includeGroup?.groups.add(group);
    includeGroup?.index.add(group);
    const { own, index } = this.#tableGroups(table);
    own.add(group);
    index.add(group);
    for (const one of tablesReachedBy([filter])) this.#tableGroups(one).dependent.add(group);
    return group;
  }

  #includeGroup(interest: Interest): IncludeGroup {
    const key = viewKey(interest);
    const known = this.#includeGroups.get(key);
    if (known !== undefined) return known;
    const includeGroup = new IncludeGroup(interest, this.#options.matcher);
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
    this.#includeGroups.delete(viewKey(includeGroup.reading));
    const tables = includeGroup.includePaths.map(({ table }) => table);
    for (const table of tables) this.#tableGroups(table).includeGroups.delete(includeGroup);
    return tables;
  }

  #route(
    change: Change,
    { own, index, dependent, includeGroups }: TableGroups,
    dispatch: TickDispatch,
  ): void {
    for (const group of dependent) dispatch.reach(group, change);
    for (const includeGroup of includeGroups) {
      if (includeGroup.isHeard) dispatch.touch(includeGroup, change);
    }
    if (change.kind === "truncate" || change.kind === "touch") {
      const reason = change.kind === "truncate" ? "truncated" : "untracked_write";
      for (const group of own) dispatch.invalidate(group, reason);
      return;
    }
    for (const rowChange of rowChangesOf(change)) {
      index.visit(rowChange, (group) => {
        if (group.isFollowed) dispatch.meet(group, rowChange);
      });
    }
  }

  #tableGroups(table: TableInfo): TableGroups {
    const known = this.#tables.get(table);
    if (known !== undefined) return known;
    const groups: TableGroups = {
      own: new Set(),
      index: new GroupIndex(this.#options.matcher.isCertain),
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

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
  readonly showings: Set<IncludeGroup>;
}

/** Brings every change to the groups that it concerns, and to nobody else. */
export class ChangeDispatcher {
  readonly #options: TickDispatchOptions;
  readonly #groups = new Map<string, SubscriberGroup>();
  readonly #tables = new Map<TableInfo, TableGroups>();
  readonly #showings = new Map<string, IncludeGroup>();
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
    const { interest: { table, filter }, showing } = group;
    this.#groups.delete(group.key);
    const { own, index } = this.#tableGroups(table);
    own.delete(group);
    index.remove(group);
    const behind = tablesReachedBy([filter]);
    for (const other of behind) this.#tableGroups(other).dependent.delete(group);
    const beneath = showing === null ? [] : this.#leaveShowing(group, showing);
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
    for (const showing of this.#showings.values()) {
      showing.ways = includePathsOf(showing.reading.view.shown, this.#options.decider);
    }
    for (const group of this.#groups.values()) {
      group.decide = this.#options.decider.compile(group.interest.filter);
      group.ways = includePathsAlong(group.interest.filter, ownRows, this.#options.decider);
      const { index } = this.#tableGroups(group.interest.table);
      for (const one of [index, group.showing?.index]) {
        one?.remove(group);
        one?.add(group);
      }
      if (group.interest.table === table) invalidate(group, "server_reset");
    }
  }

  /** Delivers a tick. Waits only where the database must decide, or related rows are loaded. */
  publish(tick: Tick): MaybePromise<void> {
    const routing = new TickDispatch(this.#options, tick, this.#fanOut);
    for (const change of tick.changes) {
      const groups = this.#tables.get(change.table);
      if (groups !== undefined) this.#route(change, groups, routing);
    }
    return routing.finish();
  }

  #open(key: string, interest: Interest): SubscriberGroup {
    const { decider, log, marks } = this.#options;
    const { table, filter, view } = interest;
    const showing = view.shown.length === 0 ? null : this.#showing(interest);
    const decide = decider.compile(filter);
    const ways = includePathsAlong(filter, ownRows, decider);
    const rows = ways.length === 0 ? null : new RowsOfGroup(log);
    const group = new SubscriberGroup(interest, {
      decide,
      ways,
      showing,
      rows,
      mark: marks.of(interest),
    });
    this.#groups.set(key, group);
    showing?.groups.add(group);
    showing?.index.add(group);
    const { own, index } = this.#tableGroups(table);
    own.add(group);
    index.add(group);
    for (const one of tablesReachedBy([filter])) this.#tableGroups(one).dependent.add(group);
    return group;
  }

  #showing(interest: Interest): IncludeGroup {
    const key = viewKey(interest);
    const known = this.#showings.get(key);
    if (known !== undefined) return known;
    const showing = new IncludeGroup(interest, this.#options.decider);
    this.#showings.set(key, showing);
    for (const { table } of showing.ways) this.#tableGroups(table).showings.add(showing);
    return showing;
  }

  /** The tables that nobody shows any more. */
  #leaveShowing(group: SubscriberGroup, showing: IncludeGroup): readonly TableInfo[] {
    showing.groups.delete(group);
    showing.index.remove(group);
    if (showing.groups.size > 0) return [];
    this.#showings.delete(viewKey(showing.reading));
    const tables = showing.ways.map(({ table }) => table);
    for (const table of tables) this.#tableGroups(table).showings.delete(showing);
    return tables;
  }

  #route(
    change: Change,
    { own, index, dependent, showings }: TableGroups,
    routing: TickDispatch,
  ): void {
    for (const group of dependent) routing.reach(group, change);
    for (const showing of showings) if (showing.isHeard) routing.touch(showing, change);
    if (change.kind === "truncate" || change.kind === "touch") {
      const reason = change.kind === "truncate" ? "truncated" : "untracked_write";
      for (const group of own) routing.invalidate(group, reason);
      return;
    }
    for (const passage of rowChangesOf(change)) {
      index.visit(passage, (group) => {
        if (group.isFollowed) routing.meet(group, passage);
      });
    }
  }

  #tableGroups(table: TableInfo): TableGroups {
    const known = this.#tables.get(table);
    if (known !== undefined) return known;
    const groups: TableGroups = {
      own: new Set(),
      index: new GroupIndex(this.#options.decider.isCertain),
      dependent: new Set(),
      showings: new Set(),
    };
    this.#tables.set(table, groups);
    return groups;
  }

  #forgetTable(table: TableInfo): void {
    const groups = this.#tables.get(table);
    if (groups === undefined) return;
    const { own, dependent, showings } = groups;
    if (own.size + dependent.size + showings.size === 0) this.#tables.delete(table);
  }
}

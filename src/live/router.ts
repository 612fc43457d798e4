import type { Change } from "../db/change_log.ts";
import type { TableInfo } from "../schema/table_info.ts";
import type { Tick } from "./feed.ts";
import type { InvalidationReason } from "./frames.ts";
import { Group, groupKey, type Interest } from "./group.ts";
import { GroupIndex } from "./group_index.ts";
import type { MaybePromise } from "./maybe_promise.ts";
import { passagesOf } from "./passage.ts";
import { reachesRows, tablesBehind } from "./relation_reach.ts";
import { invalidate, Routing, type RoutingOptions } from "./routing.ts";

/** The groups that follow one table, and those whose filters walk to it. */
interface TableGroups {
  readonly own: Set<Group>;
  readonly index: GroupIndex;
  readonly dependent: Set<Group>;
}

/** Brings every change to the groups that it concerns, and to nobody else. */
export class Router {
  readonly #options: RoutingOptions;
  readonly #groups = new Map<string, Group>();
  readonly #tables = new Map<TableInfo, TableGroups>();

  /** Nobody follows anything yet. */
  constructor(options: RoutingOptions) {
    this.#options = options;
  }

  /** The group of an interest, with one more in it. */
  enter(interest: Interest): Group {
    const key = groupKey(interest);
    const known = this.#groups.get(key);
    const group = known ?? new Group(interest, this.#options.decider.compile(interest.filter));
    group.size++;
    if (known !== undefined) return group;
    this.#groups.set(key, group);
    const { own, index } = this.#tableGroups(interest.table);
    own.add(group);
    index.add(group);
    for (const table of tablesBehind(interest.filter)) {
      this.#tableGroups(table).dependent.add(group);
    }
    return group;
  }

  /** One less in a group; the last one takes it along. */
  leave(group: Group): void {
    group.size--;
    if (group.size > 0) return;
    this.#groups.delete(group.key);
    const { table, filter } = group.interest;
    const { own, index } = this.#tableGroups(table);
    own.delete(group);
    index.remove(group);
    for (const other of tablesBehind(filter)) this.#tableGroups(other).dependent.delete(group);
    for (const one of [table, ...tablesBehind(filter)]) this.#forgetTable(one);
  }

  /** Tells everybody to begin anew. */
  invalidateAll(reason: InvalidationReason): void {
    for (const group of this.#groups.values()) invalidate(group, reason);
  }

  /** Decides anew, and tells everybody who follows a table to begin anew: memory has erred. */
  recompile(table: TableInfo): void {
    for (const group of this.#groups.values()) {
      group.decide = this.#options.decider.compile(group.interest.filter);
      const { index } = this.#tableGroups(group.interest.table);
      index.remove(group);
      index.add(group);
      if (group.interest.table === table) invalidate(group, "server_reset");
    }
  }

  /** Delivers a tick. Waits only where the database must decide, or related rows are loaded. */
  publish(tick: Tick): MaybePromise<void> {
    const routing = new Routing(this.#options, tick);
    for (const change of tick.changes) {
      const groups = this.#tables.get(change.table);
      if (groups !== undefined) this.#route(change, groups, routing);
    }
    return routing.finish();
  }

  #route(change: Change, { own, index, dependent }: TableGroups, routing: Routing): void {
    for (const group of dependent) {
      // Which rows come and go with a related one is not known here, so that all are read again.
      if (reachesRows(change, group.interest.filter, this.#options.decider)) {
        routing.invalidate(group, "relation_overflow");
      }
    }
    if (change.kind === "truncate" || change.kind === "touch") {
      const reason = change.kind === "truncate" ? "truncated" : "untracked_write";
      for (const group of own) routing.invalidate(group, reason);
      return;
    }
    for (const passage of passagesOf(change)) {
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
    };
    this.#tables.set(table, groups);
    return groups;
  }

  #forgetTable(table: TableInfo): void {
    const groups = this.#tables.get(table);
    if (groups?.own.size === 0 && groups.dependent.size === 0) this.#tables.delete(table);
  }
}

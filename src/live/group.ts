import type { Position } from "../db/change_log.ts";
import type { RowReader } from "../db/rows.ts";
import { canonicalKey } from "../filter/canonical.ts";
import type { Decide } from "../filter/decide.ts";
import type { Filter } from "../filter/filter.ts";
import type { TableInfo } from "../schema/table_info.ts";
import { type ColumnBits, readBy } from "./column_bits.ts";
import type { InvalidationReason } from "./frames.ts";
import type { RowEvent } from "./passage.ts";
import type { Showing } from "./showing.ts";
import type { LiveView } from "./view.ts";
import { filtersOf } from "./way.ts";

/** Which rows somebody follows, and how they are shown. */
export interface Interest {
  /** Where the resource is mounted: one table may be served twice. */
  readonly resource: string;
  readonly table: TableInfo;
  readonly reader: RowReader;
  /** Scope, filter of the request and "not deleted", as one. */
  readonly filter: Filter;
  readonly view: LiveView;
}

/** Somebody who is told of rows. */
export interface Follower {
  /** Must begin anew. */
  invalidate(reason: InvalidationReason): void;
  /** Can be told nothing more, because of an error of ours. */
  fail(error: unknown): void;
}

/** A subscriber who reads live. */
export interface Member extends Follower {
  /** Takes bytes that are shared with others; `to` is null where the step goes on. */
  deliver(bytes: Uint8Array, to: Position | null): void;
}

/** Somebody who makes something else of the rows than frames. */
export interface Watcher extends Follower {
  /** Takes what happened to the rows, in order; a step may come in parts. Never throws. */
  take(events: readonly RowEvent[]): void;
}

/** The subscribers who see the same: what is done for one is done for all. */
export class Group {
  readonly key: string;
  /** Shared with those who show rows alike. */
  readonly viewKey: string;
  /** What makes a position a token of this group. */
  readonly mark: string;
  readonly interest: Interest;
  /** What decides about its rows, and about those that are shown under them. */
  readonly filters: readonly Filter[];
  /** With whom it shares what is shown under its rows; null where nothing is. */
  readonly showing: Showing | null;
  /** Those who read live; the others catch up by themselves. */
  readonly members: Set<Member> = new Set();
  readonly watchers: Set<Watcher> = new Set();
  /** The columns that decide it. */
  readonly reads: ColumnBits;
  /** How memory decides which rows they see. */
  decide: Decide;
  /** How many there are in all. */
  size = 0;

  /** Nobody is in it yet. */
  constructor(
    interest: Interest,
    { decide, showing, mark }: Pick<Group, "decide" | "showing" | "mark">,
  ) {
    this.key = groupKey(interest);
    this.viewKey = viewKey(interest);
    this.mark = mark;
    this.interest = interest;
    this.filters = [interest.filter, ...filtersOf(interest.view.shown)];
    this.reads = readBy(interest.filter, interest.table);
    this.decide = decide;
    this.showing = showing;
  }

  /** Whether anybody is to be told of anything. */
  get isFollowed(): boolean {
    return this.members.size > 0 || this.watchers.size > 0;
  }

  /** All who are to be told, as they are now. */
  followers(): readonly Follower[] {
    return [...this.members, ...this.watchers];
  }
}

/** A text that two interests share only when they show rows alike. */
export function viewKey({ resource, view }: Pick<Interest, "resource" | "view">): string {
  return `${resource} ${view.key}`;
}

/** A text that two interests share only when they show the same. */
export function groupKey(interest: Interest): string {
  return JSON.stringify([viewKey(interest), canonicalKey(interest.filter)]);
}

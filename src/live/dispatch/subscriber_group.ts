import type { Position } from "../../db/changes/change_log.ts";
import type { RowReader } from "../../db/rows.ts";
import { canonicalFilterText } from "../../filter/canonical_filter.ts";
import type { InMemoryMatcher } from "../../filter/match/in_memory_matcher.ts";
import type { Filter } from "../../filter/filter.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import { type ColumnBits, columnsReadBy } from "../match/column_bits.ts";
import type { InvalidationReason } from "./server_sent_events.ts";
import type { RowsOfGroup } from "./rows_of_group.ts";
import type { HeldRows } from "../match/held_rows.ts";
import type { Transition } from "../match/row_change.ts";
import type { IncludeGroup } from "./include_group.ts";
import type { LiveView } from "../live_view.ts";
import type { IncludePath } from "../match/include_path.ts";

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
  take(events: readonly Transition[]): void;
}

/** The subscribers who see the same: what is done for one is done for all. */
export class SubscriberGroup {
  readonly key: string;
  /** Shared with those who show rows alike. */
  readonly viewKey: string;
  /** What makes a position a token of this group. */
  readonly resumeToken: string;
  readonly interest: Interest;
  /** With whom it shares what is shown under its rows; null where nothing is. */
  readonly includeGroup: IncludeGroup | null;
  /** What its live readers hold; null where a row alone decides whether it passes. */
  readonly rows: RowsOfGroup | null;
  /** From the rows that its filter walks to back to its own. */
  includePaths: readonly IncludePath[];
  readonly #members: Set<Member> = new Set();
  readonly watchers: Set<Watcher> = new Set();
  /** The columns that decide it. */
  readonly reads: ColumnBits;
  /** How memory decides which rows they see. */
  decide: InMemoryMatcher;
  /** How many there are in all. */
  size = 0;

  /** Nobody is in it yet. */
  constructor(
    interest: Interest,
    { decide, includePaths, includeGroup, resumeToken, rows }: Pick<
      SubscriberGroup,
      "decide" | "includePaths" | "includeGroup" | "resumeToken" | "rows"
    >,
  ) {
    this.key = groupKey(interest);
    this.viewKey = viewKey(interest);
    this.resumeToken = resumeToken;
    this.interest = interest;
    this.reads = columnsReadBy(interest.filter, interest.table);
    this.decide = decide;
    this.includePaths = includePaths;
    this.includeGroup = includeGroup;
    this.rows = rows;
  }

  /** Which rows it reads. */
  get reading(): Interest {
    return this.interest;
  }

  /** Those who read live; the others catch up by themselves. */
  get members(): ReadonlySet<Member> {
    return this.#members;
  }

  /**
   * Whether rows are told as they are now, once for each step, because more than their own changes
   * decides what is told of them.
   */
  get isSentByStep(): boolean {
    return this.includeGroup !== null || this.rows !== null;
  }

  /** One more reads live; `held` is what it holds, where that is kept. */
  join(member: Member, held: HeldRows | null): void {
    if (this.rows !== null && held !== null) this.rows.join(member, held, this.#members);
    this.#members.add(member);
  }

  /** One reads live no more; gives what stays known of what it holds. */
  leave(member: Member): HeldRows | null {
    if (!this.#members.delete(member)) return null;
    return this.rows?.leave(member, this.#members) ?? null;
  }

  /** Whether anybody is to be told of anything. */
  get isFollowed(): boolean {
    return this.#members.size > 0 || this.watchers.size > 0;
  }

  /** All who are to be told, as they are now. */
  followers(): readonly Follower[] {
    return [...this.#members, ...this.watchers];
  }
}

/** A text that two interests share only when they show rows alike. */
export function viewKey({ resource, view }: Pick<Interest, "resource" | "view">): string {
  return `${resource} ${view.key}`;
}

/** A text that two interests share only when they show the same. */
export function groupKey(interest: Interest): string {
  return JSON.stringify([viewKey(interest), canonicalFilterText(interest.filter)]);
}

import type { Change, Position } from "../../db/changes/change_log.ts";
import { positionOrdinal } from "../../db/changes/log_position.ts";
import type { ChangeBatch } from "../feed/change_feed.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";
import type { GroupEvents } from "./group_held_rows.ts";
import { evaluateCurrentRows } from "../match/evaluate_current_rows.ts";
import { netRowChanges, type RowChange, unchangedRow } from "../match/row_change.ts";
import { mayAffectFilters } from "../match/may_affect_filters.ts";
import type { DispatchOptions } from "./batch_dispatch.ts";
import { AffectedParents } from "../match/affected_parents.ts";

/**
 * The part of a tick that concerns groups whose filters walk along relations. Which of their rows
 * come and go the database says: of the rows that have changed, and of those at the other end of a
 * related one that has.
 */
export class RelatedFilterDispatch {
  readonly #options: Pick<DispatchOptions, "matcher" | "log">;
  readonly #batch: ChangeBatch;
  readonly #rowChanges = new Map<SubscriberGroup, RowChange[]>();
  readonly #affectedParents = new AffectedParents<SubscriberGroup>();

  constructor(options: Pick<DispatchOptions, "matcher" | "log">, batch: ChangeBatch) {
    this.#options = options;
    this.#batch = batch;
  }

  /** All that are concerned. */
  get groups(): readonly SubscriberGroup[] {
    return [...new Set([...this.#rowChanges.keys(), ...this.#affectedParents.groups])];
  }

  /** A row passes by a group. False where its followers must begin anew. */
  matchRow(group: SubscriberGroup, rowChange: RowChange): boolean {
    const images = [rowChange.before, rowChange.after];
    if (images.every((image) => image === null || group.decide(image) === false)) return true;
    // What a step does is told once, when it is over.
    if (this.#batch.to === null || group.liveSubscribers.size === 0) return false;
    this.#add(group, rowChange);
    return true;
  }

  /** A row has changed that a filter of the group may walk to. False as above. */
  matchRelated(group: SubscriberGroup, change: Change): boolean {
    const { query: { filter }, heldRows: rows } = group;
    if (!mayAffectFilters(change, [filter], this.#options.matcher)) return true;
    const isNamed = change.kind !== "truncate" && change.kind !== "touch";
    // Of rows that were not themselves changed, only memory knows whether they passed before.
    if (!isNamed || this.#batch.to === null || rows?.held.isComplete !== true) return false;
    this.#affectedParents.add(change, group);
    return true;
  }

  /** What is told to whom; null to those who must begin anew. */
  async evaluate(to: Position): Promise<ReadonlyMap<SubscriberGroup, GroupEvents | null>> {
    const { log, matcher } = this.#options;
    const sent = new Map<SubscriberGroup, GroupEvents | null>();
    if (!this.#affectedParents.isEmpty) {
      const { rows, overflowing } = await this.#affectedParents.findAll(log);
      for (const { row, groups } of rows) {
        const rowChange = unchangedRow(row, positionOrdinal(to));
        for (const group of groups) this.#add(group, rowChange);
      }
      for (const group of overflowing) sent.set(group, null);
    }
    const concernedRows = [...this.#rowChanges].flatMap(([group, rowChanges]) => {
      const { heldRows: rows, query: { table } } = group;
      if (rows === null || sent.has(group)) return [];
      const net = netRowChanges(rowChanges, table);
      return [{ group, rows, rowChanges: net, held: rows.held, isRepeat: false }];
    });
    const evaluations = await evaluateCurrentRows(concernedRows, { log, matcher, to });
    for (const [{ group, rows }, list] of evaluations) {
      sent.set(group, list === null ? null : rows.eventsOf(list));
    }
    return sent;
  }

  #add(group: SubscriberGroup, rowChange: RowChange): void {
    const rowChanges = this.#rowChanges.get(group);
    if (rowChanges === undefined) this.#rowChanges.set(group, [rowChange]);
    else rowChanges.push(rowChange);
  }
}

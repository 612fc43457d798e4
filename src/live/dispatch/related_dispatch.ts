import type { Change, Position } from "../../db/changes/change_log.ts";
import { positionOrdinal } from "../../db/changes/log_position.ts";
import type { Tick } from "../feed/change_feed.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";
import type { GroupEvents } from "./rows_of_group.ts";
import { evaluateCurrentRows } from "../match/evaluate_current_rows.ts";
import { netRowChanges, type RowChange, unchangedRow } from "../match/row_change.ts";
import { reachesRows } from "../match/relation_reach.ts";
import type { TickDispatchOptions } from "./tick_dispatch.ts";
import { AffectedParents } from "../match/affected_parents.ts";

/**
 * The part of a tick that concerns groups whose filters walk along relations. Which of their rows
 * come and go the database says: of the rows that have changed, and of those at the other end of a
 * related one that has.
 */
export class RelatedDispatch {
  readonly #options: Pick<TickDispatchOptions, "decider" | "log">;
  readonly #tick: Tick;
  readonly #passages = new Map<SubscriberGroup, RowChange[]>();
  readonly #touches = new AffectedParents<SubscriberGroup>();

  constructor(options: Pick<TickDispatchOptions, "decider" | "log">, tick: Tick) {
    this.#options = options;
    this.#tick = tick;
  }

  /** All that are concerned. */
  get groups(): readonly SubscriberGroup[] {
    return [...new Set([...this.#passages.keys(), ...this.#touches.seekers])];
  }

  /** A row passes by a group. False where its followers must begin anew. */
  meet(group: SubscriberGroup, passage: RowChange): boolean {
    const images = [passage.before, passage.after];
    if (images.every((image) => image === null || group.decide(image) === false)) return true;
    // What a step does is told once, when it is over.
    if (this.#tick.to === null || group.members.size === 0) return false;
    this.#add(group, passage);
    return true;
  }

  /** A row has changed that a filter of the group may walk to. False as above. */
  reach(group: SubscriberGroup, change: Change): boolean {
    const { interest: { filter }, rows } = group;
    if (!reachesRows(change, [filter], this.#options.decider)) return true;
    const isNamed = change.kind !== "truncate" && change.kind !== "touch";
    // Of rows that were not themselves changed, only memory knows whether they passed before.
    if (!isNamed || this.#tick.to === null || rows?.held.isComplete !== true) return false;
    this.#touches.add(change, group);
    return true;
  }

  /** What is told to whom; null to those who must begin anew. */
  async judge(to: Position): Promise<ReadonlyMap<SubscriberGroup, GroupEvents | null>> {
    const { log, decider } = this.#options;
    const told = new Map<SubscriberGroup, GroupEvents | null>();
    if (!this.#touches.isEmpty) {
      const { rows, overflowing } = await this.#touches.findAll(log);
      for (const { row, seekers } of rows) {
        const passage = unchangedRow(row, positionOrdinal(to));
        for (const group of seekers) this.#add(group, passage);
      }
      for (const group of overflowing) told.set(group, null);
    }
    const concerns = [...this.#passages].flatMap(([group, passages]) => {
      const { rows, interest: { table } } = group;
      if (rows === null || told.has(group)) return [];
      const net = netRowChanges(passages, table);
      return [{ group, rows, passages: net, held: rows.held, isRepeat: false }];
    });
    const verdicts = await evaluateCurrentRows(concerns, { log, decider, to });
    for (const [{ group, rows }, list] of verdicts) {
      told.set(group, list === null ? null : rows.eventsOf(list));
    }
    return told;
  }

  #add(group: SubscriberGroup, passage: RowChange): void {
    const passages = this.#passages.get(group);
    if (passages === undefined) this.#passages.set(group, [passage]);
    else passages.push(passage);
  }
}

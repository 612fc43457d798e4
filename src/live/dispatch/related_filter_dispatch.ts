import type { Change } from "../../db/changes/change_log.ts";
import { logPositionOrdinal, type Position } from "../../db/changes/log_position.ts";
import type { ChangeBatch } from "../feed/change_feed.ts";
import { AffectedParents } from "../match/affected_parents.ts";
import { evaluateCurrentRows, type EvaluationContext } from "../match/evaluate_current_rows.ts";
import { sharedIdentity } from "../match/matcher.ts";
import { mayAffectFilter } from "../match/may_affect_filter.ts";
import { netRowChanges, type RowChange, unchangedRow } from "../match/row_change.ts";
import type { GroupEvents } from "./group_listener.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";

type Isolate = (group: SubscriberGroup, work: () => void) => void;

/** Dispatches a batch to groups whose filters read related rows, and so need the database. */
export class RelatedFilterDispatch {
  readonly #options: Pick<EvaluationContext, "matcher" | "log">;
  readonly #batch: ChangeBatch;
  readonly #rowChanges = new Map<SubscriberGroup, RowChange[]>();
  readonly #affectedParents = new AffectedParents<SubscriberGroup>(sharedIdentity);

  readonly #isolate: Isolate;

  constructor(
    options: Pick<EvaluationContext, "matcher" | "log">,
    batch: ChangeBatch,
    isolate: Isolate,
  ) {
    this.#options = options;
    this.#batch = batch;
    this.#isolate = isolate;
  }

  get groups(): readonly SubscriberGroup[] {
    return [...new Set([...this.#rowChanges.keys(), ...this.#affectedParents.groups])];
  }

  /** Handles a changed row of the group's table. Returns false if the clients must start over. */
  matchRow(group: SubscriberGroup, rowChange: RowChange): boolean {
    const images = [rowChange.before, rowChange.after];
    if (images.every((image) => image === null || group.decide(image) === false)) return true;
    // A shared result can have other rows than the clients, so it cannot use their events.
    for (const listener of group.transitionListeners) listener.doubt(rowChange);
    if (group.liveSubscribers.size === 0) return true;
    // The evaluation needs the log position after the batch, which a part of a log read lacks.
    if (this.#batch.to === null) return false;
    this.#add(group, rowChange);
    return true;
  }

  /** Handles a changed related row. Returns false if the group's subscribers must start over. */
  matchRelated(group: SubscriberGroup, change: Change): boolean {
    const { query: { filter }, heldRows } = group;
    if (!mayAffectFilter(change, filter, this.#options.matcher)) return true;
    for (const listener of group.transitionListeners) listener.invalidate("relation_overflow");
    if (group.liveSubscribers.size === 0) return true;
    const isNamed = change.kind !== "truncate" && change.kind !== "touch";
    // Only the rows that clients hold show if a row matched before a related row changed.
    if (!isNamed || this.#batch.to === null || heldRows?.held.isComplete !== true) return false;
    this.#affectedParents.add(change, group);
    return true;
  }

  /** Returns the events of each group, or null for a group whose subscribers must start over. */
  async evaluate(to: Position): Promise<ReadonlyMap<SubscriberGroup, GroupEvents | null>> {
    const { log, matcher } = this.#options;
    const events = new Map<SubscriberGroup, GroupEvents | null>();
    if (!this.#affectedParents.isEmpty) {
      const { rows, overflowing } = await this.#affectedParents.findAll(log, to);
      for (const { row, groups } of rows) {
        const rowChange = unchangedRow(row, logPositionOrdinal(to));
        for (const group of groups) {
          this.#isolate(group, () => {
            // Skips a row that surely does not match. An error ends only the streams of this group.
            if (group.decide({ row }) !== false) this.#add(group, rowChange);
          });
        }
      }
      for (const group of overflowing) events.set(group, null);
    }
    const requests = [...this.#rowChanges].flatMap(([group, rowChanges]) => {
      const { heldRows, query: { table } } = group;
      if (heldRows === null || events.has(group)) return [];
      const net = netRowChanges(rowChanges, table);
      return [{ group, heldRows, rowChanges: net, held: heldRows.held, isRepeat: false }];
    });
    const evaluated = await evaluateCurrentRows(requests, {
      log,
      matcher,
      to,
      identity: sharedIdentity,
    });
    for (const [{ group, heldRows }, evaluations] of evaluated) {
      events.set(group, evaluations === null ? null : heldRows.eventsOf(evaluations));
    }
    return events;
  }

  #add(group: SubscriberGroup, rowChange: RowChange): void {
    const rowChanges = this.#rowChanges.get(group);
    if (rowChanges === undefined) this.#rowChanges.set(group, [rowChange]);
    else rowChanges.push(rowChange);
  }
}

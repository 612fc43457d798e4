import type { ChangeLog } from "../../db/changes/change_log.ts";
import { type RowEvaluation, transitionsOf } from "../match/evaluate_current_rows.ts";
import { HeldRows } from "../match/held_rows.ts";
import type { Transition } from "../match/row_change.ts";
import type { GroupEvents, LiveSubscriber } from "./group_listener.ts";

/**
 * The rows that the live subscribers of a group hold, for a filter that reads related rows. All
 * hold the same rows, except for rows that a subscriber read ahead when it joined.
 */
export class GroupHeldRows {
  readonly #log: Pick<ChangeLog, "includes">;
  #held: HeldRows;
  /** The differences of single subscribers by row id; null if a difference is unknown. */
  readonly #exceptions = new Map<LiveSubscriber, Map<string, boolean | null>>();

  constructor(log: Pick<ChangeLog, "includes">) {
    this.#log = log;
    this.#held = HeldRows.unknown(log);
  }

  /** The rows that all subscribers hold, except for the differences of single subscribers. */
  get held(): HeldRows {
    return this.#held;
  }

  /** Adds a subscriber that holds the rows `own`. `others` are the group's other subscribers. */
  join(subscriber: LiveSubscriber, own: HeldRows, others: ReadonlySet<LiveSubscriber>): void {
    const held = this.#held;
    if (others.size === 0) this.#held = own;
    else if (own.isComplete && !held.isComplete) {
      this.#held = own;
      for (const other of others) this.#addExceptions(other, held);
    } else this.#addExceptions(subscriber, own);
  }

  /** Removes a subscriber. Returns the rows that it holds, or null if these are uncertain. */
  leave(subscriber: LiveSubscriber, others: ReadonlySet<LiveSubscriber>): HeldRows | null {
    const rest = this.#exceptions.delete(subscriber) ? null : this.#held.aheadOnly();
    // Without subscribers, the held rows are not kept current.
    if (others.size === 0) this.#held = HeldRows.unknown(this.#log);
    return rest;
  }

  /** Returns the events of some rows. Afterwards all subscribers hold the same of these rows. */
  eventsOf(evaluations: readonly RowEvaluation[]): GroupEvents {
    const events = evaluations.flatMap((evaluation) => transitionsOf(evaluation, evaluation.was));
    const individual = new Map<LiveSubscriber, readonly Transition[] | null>();
    for (const [subscriber, exceptions] of this.#exceptions) {
      if (!evaluations.some(({ id }) => exceptions.has(id))) continue;
      const own = evaluations.map((evaluation) => {
        const { id, was } = evaluation;
        const isHeld = exceptions.get(id);
        exceptions.delete(id);
        // If it is unknown whether the subscriber holds the row, every event would be a guess.
        return isHeld === null ? null : transitionsOf(evaluation, isHeld ?? was);
      });
      individual.set(subscriber, own.includes(null) ? null : own.flatMap((event) => event ?? []));
      if (exceptions.size === 0) this.#exceptions.delete(subscriber);
    }
    return { events, individual };
  }

  #addExceptions(subscriber: LiveSubscriber, own: HeldRows): void {
    const exceptions = this.#exceptions.get(subscriber) ?? new Map<string, boolean | null>();
    for (const id of own.divergentIds(this.#held)) {
      const isHeld = own.has(id);
      if (!exceptions.has(id) && isHeld !== this.#held.has(id)) exceptions.set(id, isHeld);
    }
    if (exceptions.size > 0) this.#exceptions.set(subscriber, exceptions);
  }
}

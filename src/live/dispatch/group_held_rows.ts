import type { ChangeLog } from "../../db/changes/change_log.ts";
import { type RowEvaluation, transitionsOf } from "../match/evaluate_current_rows.ts";
import { HeldRows } from "../match/held_rows.ts";
import type { Transition } from "../match/row_change.ts";
import type { GroupEvents, LiveSubscriber } from "./group_listener.ts";

/**
 * Which rows the live subscribers of a whole group hold, where its filter reads related rows. They
 * hold the same ones, except for rows that were read ahead of the changes when a subscriber joined.
 */
export class GroupHeldRows {
  readonly #log: Pick<ChangeLog, "includes">;
  #held: HeldRows;
  /** By id, what single subscribers hold otherwise; null if that is unknown. */
  readonly #exceptions = new Map<LiveSubscriber, Map<string, boolean | null>>();

  /** Begins without subscribers. */
  constructor(log: Pick<ChangeLog, "includes">) {
    this.#log = log;
    this.#held = HeldRows.unknown(log);
  }

  /** What they hold, without the exceptions. */
  get held(): HeldRows {
    return this.#held;
  }

  /** A subscriber that holds `own` joins `others`. */
  join(subscriber: LiveSubscriber, own: HeldRows, others: ReadonlySet<LiveSubscriber>): void {
    const held = this.#held;
    if (others.size === 0) this.#held = own;
    else if (own.isComplete && !held.isComplete) {
      this.#held = own;
      for (const other of others) this.#addExceptions(other, held);
    } else this.#addExceptions(subscriber, own);
  }

  /** A subscriber leaves; returns what stays known of its rows, null if that may be wrong. */
  leave(subscriber: LiveSubscriber, others: ReadonlySet<LiveSubscriber>): HeldRows | null {
    const rest = this.#exceptions.delete(subscriber) ? null : this.#held.aheadOnly();
    // Without subscribers it is not kept up to date.
    if (others.size === 0) this.#held = HeldRows.unknown(this.#log);
    return rest;
  }

  /** The events of some rows. Afterwards all subscribers hold these rows alike. */
  eventsOf(evaluations: readonly RowEvaluation[]): GroupEvents {
    const events = evaluations.flatMap((evaluation) => transitionsOf(evaluation, evaluation.was));
    const individual = new Map<LiveSubscriber, readonly Transition[] | null>();
    for (const [subscriber, exceptions] of this.#exceptions) {
      if (!evaluations.some(({ id }) => exceptions.has(id))) continue;
      const own = evaluations.map((evaluation) => {
        const { id, was } = evaluation;
        const isHeld = exceptions.get(id);
        exceptions.delete(id);
        // What it holds is unknown, and every event would be a guess.
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

import { type RowEvaluation, transitionsOf } from "../match/evaluate_current_rows.ts";
import { HeldRows } from "../match/held_rows.ts";
import type { Transition } from "../match/row_change.ts";
import type { GroupEvents, LiveSubscriber } from "./group_listener.ts";

/** The rows that a group's clients have, with exceptions for clients that have read newer rows. */
export class GroupHeldRows {
  #held: HeldRows = HeldRows.unknown();
  /** Exceptions by client and row id: true if the client has the row, null if this is unknown. */
  readonly #exceptions = new Map<LiveSubscriber, Map<string, boolean | null>>();

  get held(): HeldRows {
    return this.#held;
  }

  join(subscriber: LiveSubscriber, own: HeldRows, others: ReadonlySet<LiveSubscriber>): void {
    const held = this.#held;
    if (others.size === 0) this.#held = own;
    else if (own.isComplete && !held.isComplete) {
      this.#held = own;
      for (const other of others) this.#addExceptions(other, held);
    } else this.#addExceptions(subscriber, own);
  }

  /** Removes a client. Returns the rows that it read in a newer state; null if they are unknown. */
  leave(subscriber: LiveSubscriber, others: ReadonlySet<LiveSubscriber>): HeldRows | null {
    const rest = this.#exceptions.delete(subscriber) ? null : this.#held.aheadOnly();
    // Without subscribers, changes do not update the held rows, so these rows become unknown.
    if (others.size === 0) this.#held = HeldRows.unknown();
    return rest;
  }

  /** Returns the events for evaluated rows, and removes the clients' exceptions for these rows. */
  eventsOf(evaluations: readonly RowEvaluation[]): GroupEvents {
    const events = evaluations.flatMap((evaluation) => transitionsOf(evaluation, evaluation.was));
    const individual = new Map<LiveSubscriber, readonly Transition[] | null>();
    for (const [subscriber, exceptions] of this.#exceptions) {
      if (!evaluations.some(({ id }) => exceptions.has(id))) continue;
      const own = evaluations.map((evaluation) => {
        const { id, was } = evaluation;
        const isHeld = exceptions.get(id);
        exceptions.delete(id);
        // If it is unknown whether the client holds the row, the right event is unknown, too.
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

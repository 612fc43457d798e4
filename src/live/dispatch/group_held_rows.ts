import type { ChangeLog } from "../../db/changes/change_log.ts";
import type { LiveSubscriber } from "./subscriber_group.ts";
import { HeldRows } from "../match/held_rows.ts";
import { type RowEvaluation, transitionsOf } from "../match/evaluate_current_rows.ts";
import type { Transition } from "../match/row_change.ts";

/** What is told to the live readers of a group. */
export interface GroupEvents {
  readonly events: readonly Transition[];
  /** To those who held some of the rows otherwise; null where they must begin anew. */
  readonly individual: ReadonlyMap<LiveSubscriber, readonly Transition[] | null>;
}

/**
 * Which rows the live readers of a group hold, where its filter walks along relations. They hold
 * the same, but for rows that were read ahead of the changes when one of them joined.
 */
export class GroupHeldRows {
  readonly #log: Pick<ChangeLog, "includes">;
  #held: HeldRows;
  /** What some of them hold otherwise; null where nobody knows. */
  readonly #individual = new Map<LiveSubscriber, Map<string, boolean | null>>();

  /** Without readers. */
  constructor(log: Pick<ChangeLog, "includes">) {
    this.#log = log;
    this.#held = HeldRows.unknown(log);
  }

  /** What they hold. */
  get held(): HeldRows {
    return this.#held;
  }

  /** One more, who holds `own`; `others` were there before. */
  join(subscriber: LiveSubscriber, own: HeldRows, others: ReadonlySet<LiveSubscriber>): void {
    const held = this.#held;
    if (others.size === 0) this.#held = own;
    else if (own.isComplete && !held.isComplete) {
      this.#held = own;
      for (const other of others) this.#addIndividual(other, held);
    } else this.#addIndividual(subscriber, own);
  }

  /** One less; gives what stays known of what it holds, and null where that could be wrong. */
  leave(subscriber: LiveSubscriber, others: ReadonlySet<LiveSubscriber>): HeldRows | null {
    const rest = this.#individual.delete(subscriber) ? null : this.#held.aheadOnly();
    // Without readers nothing is kept up to date.
    if (others.size === 0) this.#held = HeldRows.unknown(this.#log);
    return rest;
  }

  /** What is told of some rows. Afterwards everybody holds these alike. */
  eventsOf(evaluations: readonly RowEvaluation[]): GroupEvents {
    const events = evaluations.flatMap((evaluation) => transitionsOf(evaluation, evaluation.was));
    const individual = new Map<LiveSubscriber, readonly Transition[] | null>();
    for (const [subscriber, held] of this.#individual) {
      if (!evaluations.some(({ id }) => held.has(id))) continue;
      const own = evaluations.map((evaluation) => {
        const { id, was, passes } = evaluation;
        const isHeld = held.get(id);
        held.delete(id);
        if (isHeld !== null) return transitionsOf(evaluation, isHeld ?? was);
        // The others hold it, so that it may be named; else it may be a row that was never theirs.
        return passes || was ? transitionsOf(evaluation, was) : null;
      });
      individual.set(subscriber, own.includes(null) ? null : own.flatMap((event) => event ?? []));
      if (held.size === 0) this.#individual.delete(subscriber);
    }
    return { events, individual };
  }

  #addIndividual(subscriber: LiveSubscriber, own: HeldRows): void {
    const individual = this.#individual.get(subscriber) ?? new Map<string, boolean | null>();
    for (const id of own.divergentIds(this.#held)) {
      const isHeld = own.has(id);
      if (!individual.has(id) && isHeld !== this.#held.has(id)) individual.set(id, isHeld);
    }
    if (individual.size > 0) this.#individual.set(subscriber, individual);
  }
}

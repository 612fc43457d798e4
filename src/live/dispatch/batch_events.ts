import type { Transition } from "../match/row_change.ts";
import type { GroupEvents } from "./group_listener.ts";
import type { InvalidationReason } from "./server_sent_events.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";

/**
 * The events of a batch for one group, as transitions in order. An item is null while the database
 * has not evaluated the row change at this index, and remains null if there is no event.
 */
export type GroupTransitions = readonly (Transition | null)[];

/** Collects the events of one batch for each group: transitions, or an invalidation. */
export class BatchEvents {
  readonly #transitions = new Map<SubscriberGroup, (Transition | null)[]>();
  readonly #invalidations = new Map<SubscriberGroup, InvalidationReason>();
  #individual: Map<SubscriberGroup, GroupEvents["individual"]> | null = null;

  get transitions(): ReadonlyMap<SubscriberGroup, GroupTransitions> {
    return this.#transitions;
  }

  get individual(): Iterable<readonly [SubscriberGroup, GroupEvents["individual"]]> {
    return this.#individual ?? [];
  }

  /** Appends a transition; null reserves an index for {@link fill}. Returns the index. */
  append(group: SubscriberGroup, transition: Transition | null): number {
    const transitions = this.#transitions.get(group);
    if (transitions !== undefined) return transitions.push(transition) - 1;
    this.#transitions.set(group, [transition]);
    return 0;
  }

  /** Sets the transition at an index that {@link append} has reserved. */
  fill(group: SubscriberGroup, place: number, transition: Transition): void {
    const transitions = this.#transitions.get(group);
    if (transitions !== undefined) transitions[place] = transition;
  }

  set(group: SubscriberGroup, { events, individual }: GroupEvents): void {
    this.#transitions.set(group, [...events]);
    if (individual.size > 0) (this.#individual ??= new Map()).set(group, individual);
  }

  /** Lets the group start over instead of sending its transitions. The first reason counts. */
  invalidate(group: SubscriberGroup, reason: InvalidationReason): void {
    if (!this.#invalidations.has(group)) this.#invalidations.set(group, reason);
  }

  /** Ends all streams and aggregates of the groups with an error. */
  fail(groups: readonly SubscriberGroup[], error: unknown): void {
    for (const group of new Set(groups)) {
      this.#transitions.delete(group);
      for (const listener of group.listeners()) listener.fail(error);
    }
  }

  /** Sends the collected invalidations. Drops the transitions of these groups. */
  sendInvalidations(): void {
    for (const [group, reason] of this.#invalidations) {
      this.#transitions.delete(group);
      group.invalidate(reason);
    }
  }
}

import type { Transition } from "../match/row_change.ts";
import type { GroupEvents } from "./group_listener.ts";
import type { InvalidationReason } from "./server_sent_events.ts";
import type { SubscriberGroup } from "./subscriber_group.ts";

/**
 * The events of a batch for one group, as transitions in order. An item is null while its index is
 * reserved for a later event, or if that event does not follow.
 */
export type GroupTransitions = readonly (Transition | null)[];

/** Collects the events of one batch for each group: transitions, an invalidation, or an error. */
export class BatchEvents {
  readonly #transitions = new Map<SubscriberGroup, (Transition | null)[]>();
  readonly #invalidations = new Map<SubscriberGroup, InvalidationReason>();
  #individual: Map<SubscriberGroup, GroupEvents["individual"]> | null = null;

  get transitions(): ReadonlyMap<SubscriberGroup, GroupTransitions> {
    return this.#transitions;
  }

  /** The events of single subscribers that differ from those of their groups. */
  get individual(): Iterable<readonly [SubscriberGroup, GroupEvents["individual"]]> {
    return this.#individual ?? [];
  }

  /** Adds a transition, or reserves an index for a later transition. Returns the index. */
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

  /** Sends the group an invalidation instead of transitions. The first call sets the reason. */
  invalidate(group: SubscriberGroup, reason: InvalidationReason): void {
    if (!this.#invalidations.has(group)) this.#invalidations.set(group, reason);
  }

  /** Ends the listeners of the groups immediately with an error. */
  fail(groups: readonly SubscriberGroup[], error: unknown): void {
    for (const group of new Set(groups)) {
      this.#transitions.delete(group);
      for (const listener of group.listeners()) listener.fail(error);
    }
  }

  /** Sends the recorded invalidations, and drops the transitions of their groups. */
  sendInvalidations(): void {
    for (const [group, reason] of this.#invalidations) {
      this.#transitions.delete(group);
      group.invalidate(reason);
    }
  }
}

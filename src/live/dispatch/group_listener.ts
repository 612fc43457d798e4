import type { Position } from "../../db/changes/log_position.ts";
import type { Transition } from "../match/row_change.ts";
import type { InvalidationReason } from "./server_sent_events.ts";

/** A member of a subscriber group. Each member receives invalidations and errors. */
export interface GroupListener {
  /** Called when the member must read its rows again, because it may have missed changes. */
  invalidate(reason: InvalidationReason): void;
  /** Called when an internal error ends the member. */
  fail(error: unknown): void;
}

/** A live stream that has caught up with the feed, and now receives the events of its group. */
export interface LiveSubscriber extends GroupListener {
  /** Receives shared bytes. `to` is the log position after a step, or null within the step. */
  deliver(bytes: Uint8Array, to: Position | null): void;
  /** Called if a step's events are too large to share. The stream then reads the changes itself. */
  lag(): void;
}

/** A member that receives transitions instead of event bytes: a live aggregate. */
export interface TransitionListener extends GroupListener {
  /** Receives row transitions in order. A large step arrives in several calls. Never throws. */
  receive(transitions: readonly Transition[]): void;
}

/** The events of a subscriber group: for all its live subscribers, and for single subscribers. */
export interface GroupEvents {
  readonly events: readonly Transition[];
  /** Events for clients whose rows differ from the group's; null if a client must start over. */
  readonly individual: ReadonlyMap<LiveSubscriber, readonly Transition[] | null>;
}

import type { Position } from "../../db/changes/log_position.ts";
import type { Transition } from "../match/row_change.ts";
import type { InvalidationReason } from "./server_sent_events.ts";

/** A listener of a group of subscribers: receives invalidations and errors. */
export interface GroupListener {
  /** Called when the listener must read the rows again, because its state is outdated. */
  invalidate(reason: InvalidationReason): void;
  /** Called when the listener receives nothing more because of an internal error. */
  fail(error: unknown): void;
}

/** A live stream that has sent all published changes, and receives rendered events of its group. */
export interface LiveSubscriber extends GroupListener {
  /** Takes bytes that streams share. `to` is null if more parts of the same step follow. */
  deliver(bytes: Uint8Array, to: Position | null): void;
  /** Called if the events of a step are too large. The stream then reads the changes separately. */
  lag(): void;
}

/** A listener that receives the group's transitions and computes an aggregate from them. */
export interface TransitionListener extends GroupListener {
  /** Takes the transitions of rows in order. A step may come in parts. Never throws. */
  receive(transitions: readonly Transition[]): void;
}

/** The events of a group: events for all live subscribers, and events for single subscribers. */
export interface GroupEvents {
  readonly events: readonly Transition[];
  /** Events for subscribers that held other rows. Null means that the subscriber starts over. */
  readonly individual: ReadonlyMap<LiveSubscriber, readonly Transition[] | null>;
}

import type { Position } from "../../db/changes/log_position.ts";
import type { RowChange, Transition } from "../match/row_change.ts";
import type { InvalidationReason } from "./server_sent_events.ts";

export interface GroupListener {
  invalidate(reason: InvalidationReason): void;
  fail(error: unknown): void;
}

/** A live stream that has caught up with the feed, and now receives the events of its group. */
export interface LiveSubscriber extends GroupListener {
  /** Receives the bytes of events. `to` is the log position after a step, or null within a step. */
  deliver(bytes: Uint8Array, to: Position | null): void;
  /** Called if a step's events are too large to share. The stream then reads the changes itself. */
  lag(): void;
}

/** A member that receives transitions instead of event bytes: a shared result. */
export interface TransitionListener extends GroupListener {
  /** Receives transitions in order. `to` is null before the last part of a step. Never throws. */
  receive(transitions: readonly Transition[], to: Position | null): void;
  /** Receives a row change for which the service did not evaluate the filter. Never throws. */
  doubt(rowChange: RowChange): void;
}

export interface GroupEvents {
  readonly events: readonly Transition[];
  /** Events for clients whose rows differ from the group's; null if a client must start over. */
  readonly individual: ReadonlyMap<LiveSubscriber, readonly Transition[] | null>;
}

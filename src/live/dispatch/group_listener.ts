import type { Position } from "../../db/changes/log_position.ts";
import type { RowChange, Transition } from "../match/row_change.ts";
import type { InvalidationReason } from "./server_sent_events.ts";

export interface GroupListener {
  invalidate(reason: InvalidationReason): void;
  fail(error: unknown): void;
}

/** A live stream that has caught up with the feed, and now receives the events of its group. */
export interface LiveSubscriber extends GroupListener {
  /** Receives events. `to` is the log position after them; null if more of the same read follow. */
  deliver(bytes: Uint8Array, to: Position | null): void;
  /** Called if events are too large to share. The stream then reads the changes itself. */
  lag(): void;
}

/** A shared result, which receives transitions instead of event bytes. */
export interface TransitionListener extends GroupListener {
  /** Receives transitions. `to` is null if more of the same log read follow. Never throws. */
  receive(transitions: readonly Transition[], to: Position | null): void;
  /** Receives a row change for which the service did not evaluate the filter. Never throws. */
  doubt(rowChange: RowChange): void;
}

export interface GroupEvents {
  readonly events: readonly Transition[];
  /** Events for clients whose rows differ from the group's; null if a client must start over. */
  readonly individual: ReadonlyMap<LiveSubscriber, readonly Transition[] | null>;
}

import type { Position } from "../../db/changes/log_position.ts";
import type { Transition } from "../match/row_change.ts";
import type { InvalidationReason } from "./server_sent_events.ts";

/** A listener of a group of subscribers: receives its invalidations and errors. */
export interface GroupListener {
  /** What it knows of the rows is no longer true: it must read them again. */
  invalidate(reason: InvalidationReason): void;
  /** It receives nothing more, because of an error of ours. */
  fail(error: unknown): void;
}

/**
 * A listener that is a stream: it has sent all that the feed has published, and receives the
 * group's rendered events.
 */
export interface LiveSubscriber extends GroupListener {
  /** Takes bytes that streams share; `to` is null if more of the step follows. */
  deliver(bytes: Uint8Array, to: Position | null): void;
  /** The events of a step are too large to be sent at once: it reads the changes by itself. */
  lag(): void;
}

/**
 * A listener that receives the group's transitions instead of bytes, to compute an aggregate from
 * them.
 */
export interface TransitionListener extends GroupListener {
  /** Takes the transitions of rows, in order; a step may come in parts. Never throws. */
  receive(transitions: readonly Transition[]): void;
}

/**
 * The events for the listeners of a group: those that all its live subscribers receive, and those
 * for single ones.
 */
export interface GroupEvents {
  readonly events: readonly Transition[];
  /** Of subscribers that held some of the rows otherwise; null if one must begin again. */
  readonly individual: ReadonlyMap<LiveSubscriber, readonly Transition[] | null>;
}

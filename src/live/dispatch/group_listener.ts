import type { Position } from "../../db/changes/change_log.ts";
import type { Transition } from "../match/row_change.ts";
import type { InvalidationReason } from "./server_sent_events.ts";

/** Receives what happens to the rows of a group of subscribers. */
export interface GroupListener {
  /** What it knows of the rows is no longer true: it must read them again. */
  invalidate(reason: InvalidationReason): void;
  /** It receives nothing more, because of an error of ours. */
  fail(error: unknown): void;
}

/** A stream that has sent all that the feed has published: it receives rendered events. */
export interface LiveSubscriber extends GroupListener {
  /** Takes bytes that streams share; `to` is null where more of the step follows. */
  deliver(bytes: Uint8Array, to: Position | null): void;
}

/** Receives transitions instead of bytes, to compute something from them. */
export interface TransitionListener extends GroupListener {
  /** Takes the transitions of rows, in order; a step may come in parts. Never throws. */
  receive(transitions: readonly Transition[]): void;
}

/** The events that the live subscribers of a group receive. */
export interface GroupEvents {
  readonly events: readonly Transition[];
  /** Of subscribers that held some of the rows otherwise; null where one must begin again. */
  readonly individual: ReadonlyMap<LiveSubscriber, readonly Transition[] | null>;
}

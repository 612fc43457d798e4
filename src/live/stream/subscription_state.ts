import type { Position } from "../../db/changes/log_position.ts";
import type { InvalidationReason } from "../dispatch/server_sent_events.ts";
import type { SubscriberGroup } from "../dispatch/subscriber_group.ts";
import {
  type HistoryCursor,
  historyCursorAt,
  unlimitedWindow,
  type WindowLimits,
} from "../feed/change_history.ts";
import type { LiveLimits } from "../live_limits.ts";
import type { LiveQuery } from "../live_query.ts";
import { HeldRows } from "../match/held_rows.ts";
import type { Matcher } from "../match/matcher.ts";
import type { Key } from "../../plan/key.ts";
import type { StreamContext } from "../stream_context.ts";
import type { SnapshotPage, SnapshotStart } from "./snapshot_reader.ts";

/**
 * The state of a subscription: sending its snapshot, catching up, or live. The first state, also
 * after each invalidation, is {@link firstState}. A snapshot is followed by a {@link CatchUpState},
 * and then by {@link liveState}. It becomes {@link parked} if its client does not read.
 */
export type SubscriptionState = SnapshotState | CatchUpState | LiveState;

/** The state of a subscription that sends its rows page by page, with changes of earlier pages. */
export interface SnapshotState {
  readonly kind: "snapshot";
  /** True after an invalidation. The pages must be newer than the cause of the invalidation. */
  readonly isFreshStart: boolean;
  /** The rows that the client holds, or null if the filter reads no related rows. */
  readonly held: HeldRows | null;
  /** The row after which the next page begins; null for the first page. */
  start: SnapshotStart | null;
  /** The next page, if it was read but changes up to its position are still to be sent. */
  page: SnapshotPage | null;
  /** The changes that were sent, or null before the first page was sent. */
  sent: SentChanges | null;
}

/** The state of a subscription that sends the changes that its client has missed. */
export interface CatchUpState {
  readonly kind: "catch-up";
  readonly held: HeldRows | null;
  readonly sent: SentChanges;
  /** Reason why the client must start over if the log no longer has the changes. */
  readonly lossReason: InvalidationReason;
}

/** The state of a live subscription. It contains no data, because most streams are live. */
export interface LiveState {
  readonly kind: "live";
}

/** The changes that a subscription has sent while catching up, and how it sends the next ones. */
export interface SentChanges {
  cursor: HistoryCursor;
  /** True if only the net change of each row becomes an event. */
  isNet: boolean;
  /** True if the client may have received some of the next changes already. */
  isRepeat: boolean;
}

/** The start of a subscription: all rows, changes from now on, or changes after a position. */
export type StreamStart = "everything" | "now" | FreshStart | Position;

export interface SubscriptionOptions {
  readonly query: LiveQuery;
  readonly start: StreamStart;
  /** The user or the address of the request. */
  readonly identity: string;
}

/** The start of a subscription with all rows, because the client must discard its rows. */
export interface FreshStart {
  /** Distinguishes this object from a position. */
  readonly kind: "fresh";
  readonly reason: InvalidationReason;
}

/** Returns the first state; `keepsHeldRows` is true if the filter reads related rows. */
export function firstState(
  start: StreamStart,
  keepsHeldRows: boolean,
  { log, feed, limits }: StreamContext,
): SnapshotState | CatchUpState {
  if (start === "everything" || (start !== "now" && start.kind === "fresh")) {
    return {
      kind: "snapshot",
      isFreshStart: start !== "everything",
      held: keepsHeldRows ? HeldRows.empty(log, limits.maxHeldRows) : null,
      start: null,
      page: null,
      sent: null,
    };
  }
  // It is not known which rows an earlier stream has sent to the client.
  const held = keepsHeldRows ? HeldRows.unknown(log) : null;
  if (start === "now") return stateAfterSnapshot(held, feed.position);
  // The connection may have broken after events that the token does not cover.
  const sent = { ...sentUpTo(start), isRepeat: true };
  return { kind: "catch-up", held, sent, lossReason: "history_lost" };
}

/** Returns the limits of a read. With related rows, the changes of a step must be sent together. */
export function windowLimits(
  { isSentByStep }: Pick<SubscriberGroup, "isSentByStep">,
  { maxChangesAtOnce: changes, maxEventBytes: bytes }: LiveLimits,
): WindowLimits {
  return isSentByStep ? unlimitedWindow : { changes, bytes };
}

/** Returns the sent changes after a stream has sent all changes or a page up to a position. */
export function sentUpTo(position: Position): SentChanges {
  return { cursor: historyCursorAt(position), isNet: false, isRepeat: false };
}

export interface ChangesToSend {
  /** The position up to which all changes are sent. */
  readonly to: Position;
  readonly sent: SentChanges;
  /** True if the feed is paused. A stream that waits in a queue must not prolong the pause. */
  readonly isPaused?: boolean;
}

/** Returns the key up to which a snapshot has sent its rows, or null if no such key is known. */
export function sentKey(
  state: SnapshotState | CatchUpState,
  matcher: Pick<Matcher, "knowsKeyOrder">,
  { table }: Pick<LiveQuery, "table">,
): Key | null {
  if (state.kind !== "snapshot" || state.start === null) return null;
  // A string column of an existing table may have another collation. Then changes of rows in later
  // pages are also sent, and the page repeats them.
  return matcher.knowsKeyOrder(table) ? state.start.key : null;
}

/** Returns the state of a subscription after the last page of its snapshot. */
export function stateAfterSnapshot(held: HeldRows | null, position: Position): CatchUpState {
  return { kind: "catch-up", held, sent: sentUpTo(position), lossReason: "slow_consumer" };
}

/** The state that all live subscriptions share. */
export const liveState: LiveState = Object.freeze({ kind: "live" });

/** Returns the state of a live subscription whose client does not read, until the client reads. */
export function parked(held: HeldRows | null, position: Position, isRepeat: boolean): CatchUpState {
  return {
    kind: "catch-up",
    held,
    sent: { cursor: historyCursorAt(position), isNet: true, isRepeat },
    lossReason: "slow_consumer",
  };
}

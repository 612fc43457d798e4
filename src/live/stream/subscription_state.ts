import type { Position } from "../../db/changes/log_position.ts";
import type { InvalidationReason } from "../dispatch/server_sent_events.ts";
import type { SubscriberGroup } from "../dispatch/subscriber_group.ts";
import {
  cursorAt,
  type HistoryCursor,
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
 * The state of a subscription: sending its snapshot, catching up, or live. It begins with
 * {@link firstState}, and again at each invalidation; a snapshot ends in a {@link CatchUp}, and
 * that in {@link live}, which ends in {@link parked} when its client does not read.
 */
export type SubscriptionState = Snapshot | CatchUp | Live;

/**
 * The state of a subscription that sends its rows page by page. Before each page it sends the
 * changes up to the page's position, of the rows of earlier pages.
 */
export interface Snapshot {
  readonly kind: "snapshot";
  /** True if it follows an invalidation: its pages must be newer than the cause of that. */
  readonly isFreshStart: boolean;
  /** The rows that the client holds; null if a row alone decides whether it passes. */
  readonly held: HeldRows | null;
  /** The row after which the next page begins; null for the first page. */
  start: SnapshotStart | null;
  /** The next page, where it was read and changes up to its position are still to be sent. */
  page: SnapshotPage | null;
  /** Null before the first page was sent. */
  sent: SentChanges | null;
}

/**
 * The state of a subscription that sends the changes published since its snapshot, or since it was
 * live.
 */
export interface CatchUp {
  readonly kind: "catch-up";
  readonly held: HeldRows | null;
  readonly sent: SentChanges;
  /** Why the client must begin again where the log no longer holds the changes. */
  readonly lossReason: InvalidationReason;
}

/**
 * The state of a subscription that receives the events of its group. It has no data of its own:
 * most streams are live.
 */
export interface Live {
  readonly kind: "live";
}

/** What a subscription in the state of catching up has sent, and how it sends the next changes. */
export interface SentChanges {
  cursor: HistoryCursor;
  /** True if only the net change of each row becomes an event. */
  isNet: boolean;
  /** True if the client may have received some of the next changes already. */
  isRepeat: boolean;
}

/**
 * Where a subscription begins, which gives its first state: with all rows, with the changes from
 * now on, or after a position.
 */
export type StreamStart = "everything" | "now" | FreshStart | Position;

/** What a subscription follows, and where it begins. */
export interface SubscriptionOptions {
  readonly query: LiveQuery;
  readonly start: StreamStart;
  /** The user or the address of its request. */
  readonly identity: string;
}

/** The start of a subscription with all rows, because the client must discard what it holds. */
export interface FreshStart {
  /** Distinguishes it from a position. */
  readonly kind: "fresh";
  readonly reason: InvalidationReason;
}

/**
 * The first state of a subscription; `keepsHeldRows` says whether its filter reads related rows.
 */
export function firstState(
  start: StreamStart,
  keepsHeldRows: boolean,
  { log, feed, limits }: StreamContext,
): Snapshot | CatchUp {
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
  // What an earlier stream has sent to the client is not known here.
  const held = keepsHeldRows ? HeldRows.unknown(log) : null;
  if (start === "now") return afterSnapshot(held, feed.position);
  // The connection may have broken after events that the token does not cover.
  const sent = { ...sentUpTo(start), isRepeat: true };
  return { kind: "catch-up", held, sent, lossReason: "history_lost" };
}

/** How many changes are read at once; with related rows, those of a step are sent together. */
export function windowLimits(
  { isSentByStep }: Pick<SubscriberGroup, "isSentByStep">,
  { maxChangesAtOnce: changes, maxEventBytes: bytes }: LiveLimits,
): WindowLimits {
  return isSentByStep ? unlimitedWindow : { changes, bytes };
}

/**
 * The sent changes of a subscription's state: all up to a position, or a page that was read there.
 */
export function sentUpTo(position: Position): SentChanges {
  return { cursor: cursorAt(position), isNet: false, isRepeat: false };
}

/** Which changes are sent, and how. */
export interface ChangesToSend {
  /** All up to this position. */
  readonly to: Position;
  /** What was sent before. */
  readonly sent: SentChanges;
  /** True if the feed is paused, which no stream that waits for its turn may prolong. */
  readonly isPaused?: boolean;
}

/**
 * The key up to which a snapshot has sent its rows; null if the keys say nothing about that, and
 * for every other state.
 */
export function sentKey(
  state: Snapshot | CatchUp,
  matcher: Pick<Matcher, "knowsKeyOrder">,
  { table }: Pick<LiveQuery, "table">,
): Key | null {
  if (state.kind !== "snapshot" || state.start === null) return null;
  // A foreign key column may be ordered by its collation: then changes of rows in later pages are
  // sent as well, and the page repeats them.
  return matcher.knowsKeyOrder(table) ? state.start.key : null;
}

/** The state of a subscription after the last page of its snapshot. */
export function afterSnapshot(held: HeldRows | null, position: Position): CatchUp {
  return { kind: "catch-up", held, sent: sentUpTo(position), lossReason: "slow_consumer" };
}

/** The state that all live subscriptions share. */
export const live: Live = Object.freeze({ kind: "live" });

/**
 * The state of a subscription that was live and whose client does not read: it continues when the
 * client does.
 */
export function parked(held: HeldRows | null, position: Position, isRepeat: boolean): CatchUp {
  return {
    kind: "catch-up",
    held,
    sent: { cursor: cursorAt(position), isNet: true, isRepeat },
    lossReason: "slow_consumer",
  };
}

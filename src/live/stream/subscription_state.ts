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
import type { LiveQuery } from "../live_view.ts";
import { HeldRows } from "../match/held_rows.ts";
import type { Matcher } from "../match/matcher.ts";
import type { Key } from "../../plan/key.ts";
import type { StreamContext } from "../stream_context.ts";
import type { SnapshotPage, SnapshotStart } from "./snapshot_reader.ts";
import { parseResumeToken } from "./resume_token.ts";
import type { SubscribeRequest } from "./stream_request.ts";

/** If the client of a live subscription does not read, {@link parked} returns the next state. */
export type SubscriptionState = SnapshotState | CatchUpState | LiveState;

/** The stream sends all rows page by page, and between pages changes of rows in earlier pages. */
export interface SnapshotState {
  readonly kind: "snapshot";
  /** True after an invalidation: pages must be read after the change that caused the restart. */
  readonly isFreshStart: boolean;
  /** The rows that the client holds, or null if the filter reads no related rows. */
  readonly held: HeldRows | null;
  start: SnapshotStart | null;
  /** A page that was read, but is sent only after the changes up to its position. */
  page: SnapshotPage | null;
  /** How far changes were sent, or null before the first page. */
  sent: SentChanges | null;
}

export interface CatchUpState {
  readonly kind: "catch-up";
  readonly held: HeldRows | null;
  readonly sent: SentChanges;
  /** Why the client must start over if the log no longer contains the next changes. */
  readonly lossReason: InvalidationReason;
}

interface LiveState {
  readonly kind: "live";
}

export interface SentChanges {
  cursor: HistoryCursor;
  isNet: boolean;
  /** True if the client may already have received some of the next changes. */
  isRepeat: boolean;
}

/** A stream's start: all rows, only later changes, all rows again, or changes since a position. */
export type StreamStart = "everything" | "now" | FreshStart | Position;

export interface SubscriptionOptions {
  readonly query: LiveQuery;
  readonly start: StreamStart;
  readonly identity: string;
}

/** The client discards its rows because of an event, and receives all rows again. */
interface FreshStart {
  readonly kind: "fresh";
  readonly reason: InvalidationReason;
}

/** `keepsHeldRows` is true if the filter reads related rows. */
export function firstState(
  start: StreamStart,
  keepsHeldRows: boolean,
  { feed, limits }: StreamContext,
): SnapshotState | CatchUpState {
  if (start === "everything" || (start !== "now" && start.kind === "fresh")) {
    return {
      kind: "snapshot",
      isFreshStart: start !== "everything",
      held: keepsHeldRows ? HeldRows.empty(limits.maxHeldRows) : null,
      start: null,
      page: null,
      sent: null,
    };
  }
  // It is unknown which rows an earlier stream has sent to the client.
  const held = keepsHeldRows ? HeldRows.unknown() : null;
  if (start === "now") return stateAfterSnapshot(held, feed.position);
  // Before the connection broke, the client may have received events after the token's position.
  const sent = { ...sentUpTo(start), isRepeat: true };
  return { kind: "catch-up", held, sent, lossReason: "history_lost" };
}

/** Returns the limits of a read of changes; none if all changes must be sent together. */
export function windowLimits(
  { isSentByStep }: Pick<SubscriberGroup, "isSentByStep">,
  { maxChangesAtOnce: changes, maxEventBytes: bytes }: LiveLimits,
): WindowLimits {
  return isSentByStep ? unlimitedWindow : { changes, bytes };
}

export function sentUpTo(position: Position): SentChanges {
  return { cursor: historyCursorAt(position), isNet: false, isRepeat: false };
}

export interface ChangesToSend {
  readonly to: Position;
  readonly sent: SentChanges;
  /** True if the feed is paused. Then the stream must not wait in a queue. */
  readonly isPaused?: boolean;
}

/** Returns the last key that the snapshot has sent. Null: changes of all rows must be sent. */
export function sentKey(
  state: SnapshotState | CatchUpState,
  matcher: Pick<Matcher, "knowsKeyOrder">,
  { table }: Pick<LiveQuery, "table">,
): Key | null {
  if (state.kind !== "snapshot" || state.start === null) return null;
  // A string key can have a collation that this process cannot reproduce. Then the stream also
  // sends changes of rows in later pages, and the pages repeat these rows.
  return matcher.knowsKeyOrder(table) ? state.start.key : null;
}

export function stateAfterSnapshot(held: HeldRows | null, position: Position): CatchUpState {
  return { kind: "catch-up", held, sent: sentUpTo(position), lossReason: "slow_consumer" };
}

export const liveState: LiveState = Object.freeze({ kind: "live" });

/** Returns the state of a live subscription whose client does not read: it must catch up later. */
export function parked(held: HeldRows | null, position: Position, isRepeat: boolean): CatchUpState {
  return {
    kind: "catch-up",
    held,
    sent: { cursor: historyCursorAt(position), isNet: true, isRepeat },
    lossReason: "slow_consumer",
  };
}

export async function streamStartOf(
  { resumeFrom, skipExisting }: SubscribeRequest,
  query: LiveQuery,
  { log, feed, resumeTokens }: StreamContext,
): Promise<StreamStart> {
  if (resumeFrom === null) return skipExisting ? "now" : "everything";
  const token = parseResumeToken(resumeFrom);
  const position = token === null ? null : log.parse(token.position);
  const lost = { kind: "fresh", reason: "history_lost" } as const;
  if (token === null || position === null) return lost;
  const reason = resumeTokens.invalidationReason(token, query);
  // A position with a valid seal was in the log. If the log lacks it, the database was restored.
  if (reason === null && !await log.holds(position)) return lost;
  // A position that the feed cannot reach belongs to a history that a restore has removed.
  if (!await feed.readUpTo(position)) return lost;
  if (reason !== null) return { kind: "fresh", reason };
  // The client may have seen any change up to now, so the feed must first publish all changes.
  return await feed.readUpTo(await log.end()) ? position : lost;
}

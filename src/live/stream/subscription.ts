import type { Change, Position } from "../../db/changes/change_log.ts";
import { renderMissedChanges } from "./catch_up.ts";
import type { StreamContext } from "../stream_context.ts";
import {
  commentText,
  invalidateText,
  type InvalidationReason,
  tokenText,
} from "../dispatch/server_sent_events.ts";
import type { LiveQuery, LiveSubscriber, SubscriberGroup } from "../dispatch/subscriber_group.ts";
import { HeldRows } from "../match/held_rows.ts";
import { cursorAt, type HistoryCursor, type HistoryWindow } from "../feed/change_history.ts";
import { LiveStream } from "./live_stream.ts";
import { snapshotPageText, type SnapshotProgress, type SnapshotStart } from "./snapshot_reader.ts";

/** Where a stream begins: with all rows, with what comes from now on, or behind a position. */
export type StreamStart = "everything" | "now" | FreshStart | Position;

/** With all rows, because what the client holds is worth nothing any more. */
export interface FreshStart {
  /** Tells it from a position. */
  readonly kind: "anew";
  readonly reason: InvalidationReason;
}

/**
 * A stream of rows. It reads live as a member of its group, or it is behind: then it goes on by
 * itself whenever its client takes bytes, page by page while the snapshot lasts, and by the changes
 * that it missed after that. So a slow client costs what it has not yet taken of one chunk, and a
 * position.
 */
export class Subscription extends LiveStream implements LiveSubscriber {
  #group: SubscriberGroup;
  #phase: "behind" | "live" = "behind";
  #walk: SnapshotProgress | null = null;
  /** What was sent knows of all this; null before anything was. */
  #cursor: HistoryCursor | null = null;
  /** While it is behind; null where a row alone decides whether it passes. */
  #held: HeldRows | null = null;
  #working: Promise<void> | null = null;
  /** Changes when what is under way counts no more. */
  #round = 0;
  #isNet = false;
  #isRepeat = false;
  /** The reason when history turns out to be lost. */
  #lossReason: InvalidationReason = "slow_consumer";

  /** `ended` is called once, whoever ends it. */
  constructor(
    channel: StreamContext,
    query: LiveQuery,
    beginning: StreamStart,
    ended: (stream: LiveStream) => void,
  ) {
    super(channel, ended);
    this.#group = channel.dispatcher.enter(query);
    this.#begin(beginning);
  }

  override get query(): LiveQuery {
    return this.#group.query;
  }

  override get isLive(): boolean {
    return this.#phase === "live";
  }

  override pull(): Promise<void> | undefined {
    if (this.isClosed || this.#phase !== "behind") return undefined;
    return this.#working ??= this.#work();
  }

  deliver(bytes: Uint8Array, to: Position | null): void {
    if (this.#phase !== "live") return;
    this.enqueue(bytes);
    if (this.hasRoom()) return;
    // Parked: it takes no more part, and catches up when its client has read.
    this.#held = this.#group.leave(this);
    const isUnsure = this.#group.heldRows !== null && this.#held === null;
    if (isUnsure) this.#held = HeldRows.unknown(this.channel.log);
    this.#phase = "behind";
    this.#cursor = cursorAt(to ?? this.channel.feed.position);
    this.#isNet = true;
    this.#isRepeat = to === null || isUnsure;
    this.#lossReason = "slow_consumer";
  }

  invalidate(reason: InvalidationReason): void {
    if (this.isClosed) return;
    this.#group.leave(this);
    this.#phase = "behind";
    this.#round++;
    this.#begin({ kind: "anew", reason });
  }

  override switchQuery(query: LiveQuery, reason: InvalidationReason): void {
    if (this.isClosed) return;
    const { dispatcher: router } = this.channel;
    this.#group.leave(this);
    router.leave(this.#group);
    this.#group = router.enter(query);
    this.invalidate(reason);
  }

  override heartbeat(trailerOf: (group: SubscriberGroup) => Uint8Array): void {
    if (!this.hasRoom()) return;
    if (this.#phase === "live") this.enqueue(trailerOf(this.#group));
    else this.send(commentText);
  }

  override tokenAt(position: Position): string {
    return this.#phase === "live" ? this.#tokenText(position) : "";
  }

  protected override release(): void {
    this.#round++;
    this.#group.leave(this);
    this.channel.dispatcher.leave(this.#group);
  }

  #begin(beginning: StreamStart): void {
    this.#isNet = false;
    this.#isRepeat = false;
    this.#cursor = null;
    this.#walk = null;
    const { log, feed, limits: { maxHeldRows } } = this.channel;
    // Nothing until the snapshot begins, and what an earlier stream has sent where there is none.
    this.#held = this.#group.heldRows === null ? null : HeldRows.empty(log, maxHeldRows);
    if (beginning === "everything") {
      this.#walk = { start: null, page: null, isFreshStart: false };
      return;
    }
    if (typeof beginning === "object" && beginning.kind === "anew") {
      this.#walk = { start: null, page: null, isFreshStart: true };
      return this.send(invalidateText(beginning.reason));
    }
    if (this.#held !== null) this.#held = HeldRows.unknown(log);
    const position = beginning === "now" ? feed.position : beginning;
    this.#cursor = cursorAt(position);
    if (beginning === "now") {
      this.send(snapshotPageText([], null, false) + this.#tokenText(position));
    } else {
      // The connection may have broken behind events of which the token does not know.
      this.#isRepeat = true;
      this.#lossReason = "history_lost";
    }
  }

  async #work(): Promise<void> {
    try {
      while (this.#phase === "behind" && this.hasRoom()) {
        if (this.#walk === null) await this.#follow();
        else await this.#walkOn(this.#walk);
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.#working = null;
    }
  }

  /** One page of the snapshot, once what was sent before is as new as the page. */
  async #walkOn(walk: SnapshotProgress): Promise<void> {
    const round = this.#round;
    const { log, feed, snapshots: pages } = this.channel;
    if (walk.page === null) {
      const page = await pages.read(this.#group, walk.start, await this.#minKnown(walk));
      const isReached = await feed.readUpTo(page.position);
      if (this.#round !== round) return;
      // Another life of the log has begun behind the page.
      if (!isReached) return this.invalidate("history_lost");
      walk.page = page;
    }
    const { page } = walk;
    if (this.#cursor !== null) {
      const window = await this.#read(this.#cursor, "slow_consumer", round);
      if (window === null) return;
      // What the page does not know of is read again behind it.
      const changes = window.changes.filter((change) => log.covers(page.position, change));
      const { cursor: { position: reached } } = window;
      const to = log.includes(page.position, reached) ? reached : page.position;
      if (!await this.#sendChanges(changes, to, walk.start, round)) return;
      this.#cursor = window.cursor;
      // The log gives as much at a time as it likes: nothing up to the page may be left out.
      if (!log.includes(window.cursor.position, page.position)) return;
    }
    this.enqueue(page.bytes);
    this.#cursor = cursorAt(page.position);
    this.#held?.addAll(page.keyIds, page.position);
    this.#isNet = false;
    this.#isRepeat = false;
    walk.page = null;
    walk.start = page.next;
    if (page.next !== null) return;
    this.#walk = null;
    this.send(this.#tokenText(page.position));
  }

  /** What the next page must know of; null where any will do. */
  async #minKnown({ isFreshStart }: SnapshotProgress): Promise<Position | null> {
    if (this.#cursor !== null) return this.#cursor.position;
    const { feed } = this.channel;
    // The change that brought the invalidation may be on its way still.
    return isFreshStart ? await feed.whilePaused(() => feed.position) : null;
  }

  /** Some of the changes behind the cursor; at their end the stream is live. */
  async #follow(): Promise<void> {
    const round = this.#round;
    const { feed } = this.channel;
    const cursor = this.#cursor ?? cursorAt(feed.position);
    const window = await this.#read(cursor, this.#lossReason, round);
    if (window === null) return;
    const { changes, cursor: { position: to } } = window;
    if (!await this.#sendChanges(changes, to, null, round)) return;
    this.#cursor = window.cursor;
    if (window.cursor.within === null && window.changes.length > 0) {
      this.send(this.#tokenText(window.cursor.position));
    }
    if (!window.isEnd) return;
    const isReached = await feed.readUpTo(window.cursor.position);
    if (this.#round !== round) return;
    // A database that was set back: nobody will ever get to that position.
    if (!isReached) return this.invalidate("history_lost");
    await feed.whilePaused(() => this.#join(round));
  }

  #tokenText(position: Position): string {
    const { log, resumeTokens } = this.channel;
    return tokenText(resumeTokens.create(log.print(position), this.#group.queryDigest));
  }

  /** The next changes; null where the stream goes another way. */
  async #read(
    cursor: HistoryCursor,
    lossReason: InvalidationReason,
    round: number,
  ): Promise<HistoryWindow | null> {
    const { history, limits } = this.channel;
    // With what is shown under rows, a step is told whole or not at all.
    const isWhole = this.#group.isSentByStep;
    const window = await history.read(cursor, isWhole ? Infinity : limits.maxChangesAtOnce);
    if (this.#round !== round) return null;
    const isTorn = isWhole && window !== null && window.cursor.within !== null;
    if (window === null || isTorn) {
      this.invalidate(isTorn ? "relation_overflow" : lossReason);
      return null;
    }
    // A few changes are told one by one, as they would have been; many only by what is left.
    if (!window.isEnd) this.#isNet = true;
    if (window.isRepeated) this.#isRepeat = true;
    return window;
  }

  /** Sends the events of changes up to a position; false where the stream goes another way. */
  async #sendChanges(
    changes: readonly Change[],
    to: Position,
    start: SnapshotStart | null,
    round: number,
  ): Promise<boolean> {
    const { matcher, log } = this.channel;
    // The order of a foreign key may be its collation's: then rows that are still to come in a page
    // are told of as well, and the page says the same once more.
    const upTo = start !== null && matcher.knowsKeyOrder(this.query.table) ? start.key : null;
    const net = await renderMissedChanges(changes, {
      group: this.#group,
      matcher,
      log,
      to,
      held: this.#held,
      isNet: this.#isNet,
      isRepeat: this.#isRepeat,
      upTo,
    });
    if (this.#round !== round) return false;
    if ("reason" in net) {
      this.invalidate(net.reason);
      return false;
    }
    if (net.text !== "") this.send(net.text);
    return true;
  }

  /** Joins the live readers, once it has told the little that has happened since. */
  async #join(round: number): Promise<void> {
    if (this.#round !== round || this.#cursor === null) return;
    const { history, limits } = this.channel;
    const isWhole = this.#group.isSentByStep;
    const rest = history.readFromMemory(this.#cursor, isWhole ? Infinity : limits.maxChangesAtOnce);
    if (rest === null || !rest.isEnd) return;
    if (rest.changes.length > 0) {
      if (!await this.#sendChanges(rest.changes, rest.cursor.position, null, round)) return;
      this.send(this.#tokenText(rest.cursor.position));
      // Its client may have been found to be gone.
      if (this.isClosed) return;
    }
    this.#cursor = null;
    this.#isNet = false;
    this.#isRepeat = false;
    this.#phase = "live";
    this.#group.join(this, this.#held);
    this.#held = null;
  }
}

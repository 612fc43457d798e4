import type { Change } from "../../db/changes/change_log.ts";
import {
  coversChange,
  coversPosition,
  type Position,
  printLogPosition,
} from "../../db/changes/log_position.ts";
import type { LiveSubscriber } from "../dispatch/group_listener.ts";
import {
  commentText,
  invalidateText,
  type InvalidationReason,
  resumeTokenText,
} from "../dispatch/server_sent_events.ts";
import type { SubscriberGroup } from "../dispatch/subscriber_group.ts";
import type { HistoryWindow } from "../feed/change_history.ts";
import type { LiveQuery } from "../live_view.ts";
import type { StreamContext } from "../stream_context.ts";
import { LiveStream } from "./live_stream.ts";
import { renderChanges } from "./render_changes.ts";
import { type SnapshotPage, snapshotPageText } from "./snapshot_reader.ts";
import {
  type CatchUpState,
  type ChangesToSend,
  firstState,
  liveState,
  parked,
  type SentChanges,
  sentKey,
  sentUpTo,
  type SnapshotState,
  stateAfterSnapshot,
  type StreamStart,
  type SubscriptionOptions,
  type SubscriptionState,
  windowLimits,
} from "./subscription_state.ts";

/**
 * A stream of rows to one client: a snapshot, missed changes, then live events. Until it is live,
 * it reads rows only when its client reads bytes, so a slow client needs little memory. After each
 * `await`, a method returns if the state has changed.
 */
export class Subscription extends LiveStream implements LiveSubscriber {
  readonly #identity: string;
  #group: SubscriberGroup;
  #state: SubscriptionState;
  /** True if the last bytes were only a part of a step (all changes of one read of the log). */
  #isWithinStep = false;
  #working: Promise<void> | null = null;

  constructor(
    context: StreamContext,
    { query, start, identity }: SubscriptionOptions,
    ended: (stream: LiveStream) => void,
  ) {
    super(context, ended);
    this.#identity = identity;
    this.#group = context.dispatcher.enter(query);
    this.#state = firstState(start, this.#group.heldRows !== null, context);
    this.#sendStart(start);
  }

  override get query(): LiveQuery {
    return this.#group.query;
  }

  override get isLive(): boolean {
    return this.#state.kind === "live";
  }

  override pull(): Promise<void> | undefined {
    if (this.isClosed || this.isLive) return undefined;
    return this.#working ??= this.#work();
  }

  deliver(bytes: Uint8Array, to: Position | null): void {
    if (!this.isLive) return;
    this.#isWithinStep = to === null;
    this.enqueue(bytes);
    if (!this.hasRoom()) this.#park(to);
  }

  lag(): void {
    if (this.isClosed || !this.isLive) return;
    // With related rows, the changes of one log read cannot be split, so the client starts over.
    if (this.#group.isSentByStep) return this.invalidate("relation_overflow");
    this.#group.leave(this);
    this.#state = parked(null, this.context.feed.position, this.#isWithinStep);
    // If there is no room now, the `ReadableStream` calls `pull` as soon as there is room.
    if (this.hasRoom()) void this.pull();
  }

  override invalidate(reason: InvalidationReason): void {
    if (this.isClosed) return;
    this.#group.leave(this);
    const start = { kind: "fresh", reason } as const;
    this.#state = firstState(start, this.#group.heldRows !== null, this.context);
    this.#sendStart(start);
  }

  override switchQuery(query: LiveQuery, reason: InvalidationReason): void {
    if (this.isClosed) return;
    const { dispatcher } = this.context;
    this.#group.leave(this);
    dispatcher.leave(this.#group);
    this.#group = dispatcher.enter(query);
    this.invalidate(reason);
  }

  override heartbeat(trailerOf: (group: SubscriberGroup) => Uint8Array): void {
    if (!this.hasRoom()) return;
    if (this.isLive) this.enqueue(trailerOf(this.#group));
    else this.send(commentText);
  }

  override tokenAt(position: Position): string {
    return this.isLive ? this.#tokenText(position) : "";
  }

  protected override release(): void {
    this.#group.leave(this);
    this.context.dispatcher.leave(this.#group);
  }

  /** Sends the first events. A send can call `pull`, so the caller sets the state beforehand. */
  #sendStart(start: StreamStart): void {
    if (start === "now") {
      this.send(snapshotPageText([], null, false) + this.#tokenText(this.context.feed.position));
    } else if (start !== "everything" && start.kind === "fresh") {
      this.send(invalidateText(start.reason));
    }
  }

  #park(to: Position | null): void {
    const held = this.#group.leave(this);
    // If it is unknown which rows the client holds, the stream starts over.
    const isUnknown = this.#group.heldRows !== null && held === null;
    if (isUnknown) return this.invalidate("relation_overflow");
    this.#state = parked(held, to ?? this.context.feed.position, to === null);
  }

  async #work(): Promise<void> {
    try {
      while (this.hasRoom()) {
        const state = this.#state;
        if (state.kind === "live") break;
        if (state.kind === "snapshot") await this.#sendPage(state);
        else await this.#catchUp(state);
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.#working = null;
    }
  }

  #isCurrent(state: SubscriptionState): boolean {
    return this.#state === state && !this.isClosed;
  }

  /** Sends a page. First sends the changes of rows in earlier pages, up to the page's position. */
  async #sendPage(state: SnapshotState): Promise<void> {
    const page = state.page ??= await this.#readPage(state);
    if (page === null) return;
    if (state.sent !== null && !await this.#sendUpTo(page, state, state.sent)) return;
    // A page of the earlier query must not be sent after `switchQuery`.
    if (!this.#isCurrent(state)) return;
    this.enqueue(page.bytes);
    state.held?.addAll(page.keyIds, page.position);
    state.sent = sentUpTo(page.position);
    state.page = null;
    state.start = page.next;
    if (page.next !== null) return;
    this.#state = stateAfterSnapshot(state.held, page.position);
    this.send(this.#tokenText(page.position));
  }

  async #readPage(state: SnapshotState): Promise<SnapshotPage | null> {
    const { feed, snapshots } = this.context;
    const minPosition = await this.#minPosition(state);
    const request = { start: state.start, minPosition, identity: this.#identity };
    const page = await snapshots.read(this.#group, request);
    if (minPosition !== null) await feed.expect(minPosition, page.position);
    const isReached = await feed.readUpTo(page.position);
    if (!this.#isCurrent(state)) return null;
    if (isReached) return page;
    // A restore of the database has removed the history at the page's position.
    this.invalidate("history_lost");
    return null;
  }

  /** Returns the log position that the next page must cover; null if any page is sufficient. */
  async #minPosition({ sent, isFreshStart }: SnapshotState): Promise<Position | null> {
    const { feed } = this.context;
    // Waits until the feed has delivered the change that made the stream start over.
    if (sent === null) return isFreshStart ? await feed.whilePaused(() => feed.position) : null;
    return sent.cursor.position;
  }

  /** Sends changes of rows in earlier pages. Returns false if changes before `page` remain. */
  async #sendUpTo(page: SnapshotPage, state: SnapshotState, sent: SentChanges): Promise<boolean> {
    const window = await this.#readChanges(state, sent, "slow_consumer");
    if (window === null) return false;
    // Changes after the position of the page are read again later.
    const changes = window.changes.filter((change) => coversChange(page.position, change));
    const { position } = window.cursor;
    const to = coversPosition(page.position, position) ? position : page.position;
    if (!await this.#sendChanges(changes, { to, sent }, state)) return false;
    sent.cursor = window.cursor;
    return coversPosition(position, page.position);
  }

  async #catchUp(state: CatchUpState): Promise<void> {
    const { feed } = this.context;
    const { sent } = state;
    const published = feed.position;
    const window = await this.#readChanges(state, sent, state.lossReason);
    if (window === null) return;
    const { changes, cursor: { position, within } } = window;
    if (window.isEnd && changes.length === 0) await feed.expect(published, position);
    const isSent = await this.#sendChanges(changes, { to: position, sent }, state);
    if (!isSent || !this.#isCurrent(state)) return;
    sent.cursor = window.cursor;
    if (within === null && changes.length > 0) this.send(this.#tokenText(position));
    if (!window.isEnd) return;
    const isReached = await feed.readUpTo(position);
    if (!this.#isCurrent(state)) return;
    // The position belongs to a history that a restore of the database has removed.
    if (!isReached) return this.invalidate("history_lost");
    await feed.whilePaused(() => this.#goLive(state));
  }

  /** Sends the few changes since the last read, and becomes live. The caller pauses the feed. */
  async #goLive(state: CatchUpState): Promise<void> {
    if (!this.#isCurrent(state)) return;
    const { history, limits } = this.context;
    const { sent } = state;
    const rest = history.readFromMemory(sent.cursor, windowLimits(this.#group, limits));
    if (rest === null || !rest.isEnd) return;
    if (rest.changes.length > 0) {
      const { position } = rest.cursor;
      const toSend = { to: position, sent, isPaused: true };
      if (!await this.#sendChanges(rest.changes, toSend, state) || !this.#isCurrent(state)) return;
      this.send(this.#tokenText(position));
    } else if (sent.isRepeat) {
      // Without this token, a client would learn that it is up to date only at a heartbeat.
      this.send(this.#tokenText(sent.cursor.position));
    }
    if (this.isClosed) return;
    this.#state = liveState;
    this.#group.join(this, state.held);
  }

  async #readChanges(
    state: SnapshotState | CatchUpState,
    sent: SentChanges,
    lossReason: InvalidationReason,
  ): Promise<HistoryWindow | null> {
    const { history, limits } = this.context;
    const window = await history.read(sent.cursor, windowLimits(this.#group, limits));
    if (!this.#isCurrent(state)) return null;
    const isTorn = this.#group.isSentByStep && window !== null && window.cursor.within !== null;
    if (window === null || isTorn) {
      this.invalidate(isTorn ? "relation_overflow" : lossReason);
      return null;
    }
    // If many changes are left, all changes of a row become one event.
    if (!window.isEnd) sent.isNet = true;
    if (window.isRepeated) sent.isRepeat = true;
    return window;
  }

  async #sendChanges(
    changes: readonly Change[],
    { to, sent: { isNet, isRepeat }, isPaused = false }: ChangesToSend,
    state: SnapshotState | CatchUpState,
  ): Promise<boolean> {
    const { matcher, log, catchUpSemaphore } = this.context;
    const group = this.#group;
    const identity = this.#identity;
    const upTo = sentKey(state, matcher, this.query);
    const { held } = state;
    const options = { group, matcher, log, to, held, isNet, isRepeat, upTo, identity };
    const render = () => this.#isCurrent(state) ? renderChanges(changes, options) : null;
    // Without the semaphore, clients that catch up would delay list requests in the read queue.
    const waits = group.isSentByStep && changes.length > 0 && !isPaused;
    const rendered = waits
      ? await catchUpSemaphore.run(async () => await render(), identity)
      : await render();
    if (rendered === null || !this.#isCurrent(state)) return false;
    if ("text" in rendered) {
      if (rendered.text !== "") this.send(rendered.text);
      return true;
    }
    this.invalidate(rendered.reason);
    return false;
  }

  #tokenText(position: Position): string {
    const { resumeTokens } = this.context;
    return resumeTokenText(
      resumeTokens.create(printLogPosition(position), this.#group.queryDigest),
    );
  }
}

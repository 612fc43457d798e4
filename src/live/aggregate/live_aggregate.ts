import type { AggregateGroup } from "../../db/aggregate_groups.ts";
import { coversPosition, type Position } from "../../db/changes/log_position.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { Problem } from "../../problem/problem.ts";
import type { TransitionListener } from "../dispatch/group_listener.ts";
import { eventText, type InvalidationReason, toBytes } from "../dispatch/server_sent_events.ts";
import type { SubscriberGroup } from "../dispatch/subscriber_group.ts";
import { historyCursorAt, unlimitedWindow } from "../feed/change_history.ts";
import type { LiveQuery } from "../live_view.ts";
import type { Transition } from "../match/row_change.ts";
import { evaluateChanges } from "../stream/render_changes.ts";
import type { StreamContext } from "../stream_context.ts";
import { AggregateReader, type AggregateReadResult } from "./aggregate_reader.ts";
import type { GroupHolder, GroupMemory } from "./group_memory.ts";
import type { IncrementalAggregate, LiveAggregateQuery } from "./incremental_aggregate.ts";

export interface AggregateListener {
  /** The user id or IP address of the stream's request. */
  readonly identity: string;
  /** Called when {@link LiveAggregate.frame} contains a new result. */
  show(): void;
  fail(error: unknown): void;
}

export interface LiveAggregateOptions {
  readonly query: LiveQuery;
  readonly aggregateQuery: LiveAggregateQuery;
  readonly memory: GroupMemory;
  readonly listener: AggregateListener;
}

/**
 * A live aggregate: the result of one aggregate query, kept current for all streams that show it.
 * The database computes the result at a known log position. Later row changes update the result in
 * memory. If the result in memory could become inexact or too large, the database computes it again
 * after each change. A pause of four times the query's duration follows each query.
 */
export class LiveAggregate implements TransitionListener, GroupHolder {
  readonly query: LiveQuery;
  readonly aggregateQuery: LiveAggregateQuery;
  readonly #listeners: Set<AggregateListener>;
  /** The user or IP address of the oldest listener. The groups count against its memory limit. */
  #identity: string;
  readonly #memory: GroupMemory;
  readonly #context: StreamContext;
  readonly #group: SubscriberGroup;
  readonly #reader: AggregateReader;
  #incremental: IncrementalAggregate | null = null;
  /** True if the result in memory includes exactly the changes that the feed has published. */
  #isExact = false;
  /** Number of row changes that were applied since the last read. */
  #events = 0;
  #shownAt: Position | null = null;
  #frame: Uint8Array | null = null;
  /** A counter that increases when the result must be read again, e.g. after unrecorded changes. */
  #round = 0;
  #isReading = false;
  #isClosed = false;
  /** Monotonic time of the next planned read; `Infinity` if no read is planned. */
  #readsAt = Infinity;
  #cancelReading: (() => void) | null = null;
  #cancelShow: (() => void) | null = null;

  /** Joins the subscriber group of the query and starts the first read. */
  constructor(
    context: StreamContext,
    { query, aggregateQuery, memory, listener }: LiveAggregateOptions,
  ) {
    this.query = query;
    this.aggregateQuery = aggregateQuery;
    this.#memory = memory;
    this.#listeners = new Set([listener]);
    this.#identity = listener.identity;
    this.#context = context;
    this.#reader = new AggregateReader(context, { query, aggregateQuery, memory, holder: this });
    this.#group = context.dispatcher.enter(query);
    this.#group.transitionListeners.add(this);
    void this.#read();
  }

  /** The bytes of the event with the latest result; null before the first result. */
  get frame(): Uint8Array | null {
    return this.#frame;
  }

  get identity(): string {
    return this.#identity;
  }

  add(listener: AggregateListener): void {
    this.#listeners.add(listener);
  }

  remove(listener: AggregateListener): boolean {
    this.#listeners.delete(listener);
    const [eldest] = this.#listeners;
    if (eldest === undefined) return false;
    if (eldest.identity !== this.#identity) {
      this.#identity = eldest.identity;
      this.#holdGroups();
    }
    return true;
  }

  dropGroups(): void {
    if (this.#incremental !== null) this.#reader.noRoomFor(this.#incremental.bytes);
    this.#incremental = null;
    this.#isExact = false;
    this.#readIn(coalesceMs);
  }

  receive(transitions: readonly Transition[]): void {
    // An outdated result is read again soon, and that read will include these transitions.
    if (!this.#isExact) return;
    this.#count(transitions);
    if (!this.#isExact) return this.#readIn(coalesceMs);
    this.#readIn(this.#events < this.#context.limits.maxUncheckedEvents ? checkMs : coalesceMs);
    this.#showIn(coalesceMs);
  }

  invalidate(reason: InvalidationReason): void {
    // After a restore of the database, its log positions cannot be compared with earlier ones.
    if (reason === "history_lost") this.#shownAt = null;
    this.#invalidateCount();
  }

  fail(error: unknown): void {
    for (const listener of [...this.#listeners]) listener.fail(error);
  }

  close(): void {
    this.#isClosed = true;
    this.#reader.close();
    this.#memory.release(this);
    this.#incremental = null;
    this.#cancelReading?.();
    this.#cancelShow?.();
    this.#group.transitionListeners.delete(this);
    this.#context.dispatcher.leave(this.#group);
  }

  #invalidateCount(): void {
    this.#isExact = false;
    this.#round++;
    this.#readIn(coalesceMs);
  }

  /** Reserves memory for the groups. Without room, the result is read again after each change. */
  #holdGroups(): void {
    if (this.#incremental === null || this.#isClosed) return;
    if (!this.#memory.hold(this, this.#incremental.bytes)) this.dropGroups();
  }

  #count(transitions: readonly Transition[]): void {
    const incremental = this.#incremental;
    this.#events += transitions.length;
    this.#isExact &&= incremental !== null &&
      transitions.every((transition) => incremental.apply(transition));
    this.#holdGroups();
  }

  #showIn(delayMs: number, tries = 1): void {
    if (this.#isClosed) return;
    this.#cancelShow ??= this.#context.runtime.clock.after(delayMs, () => {
      this.#cancelShow = null;
      // While the feed reads, it may have published only a part of a transaction. No event must
      // contain a result in the middle of a transaction.
      if (tries < maxTries && !this.#context.feed.isIdle) this.#showIn(coalesceMs, tries + 1);
      else void this.#showIncremental();
    });
  }

  async #showIncremental(): Promise<void> {
    const { feed } = this.#context;
    try {
      await feed.whilePaused(() => {
        const groups = this.#isExact ? this.#incremental?.groups() : undefined;
        // `groups` is null if only the database can evaluate `having` or sort the groups.
        if (groups === null) this.#invalidateCount();
        else if (groups !== undefined) this.#show(groups, feed.position);
      });
    } catch (error) {
      this.fail(error);
    }
  }

  #show(groups: readonly AggregateGroup[], at: Position): void {
    this.#shownAt = at;
    const frame = toBytes(this.#print(groups));
    if (this.#isClosed || (this.#frame !== null && isSame(frame, this.#frame))) return;
    if (frame.length > this.#context.limits.maxEventBytes) return this.fail(tooLarge());
    this.#frame = frame;
    for (const listener of [...this.#listeners]) listener.show();
  }

  #print(groups: readonly AggregateGroup[]): string {
    return eventText("aggregate", this.aggregateQuery.present(groups));
  }

  #readIn(delayMs: number): void {
    const { clock } = this.#context.runtime;
    const now = clock.elapsedMs();
    const at = Math.max(now + delayMs, this.#reader.restsUntil);
    if (this.#isReading || this.#isClosed || at >= this.#readsAt) return;
    this.#cancelReading?.();
    this.#readsAt = at;
    this.#cancelReading = clock.after(at - now, () => void this.#read());
  }

  async #read(): Promise<void> {
    const { feed, aggregateSemaphore } = this.#context;
    let delayMs = coalesceMs;
    this.#isReading = true;
    this.#readsAt = Infinity;
    try {
      const reading = await aggregateSemaphore.run(() => this.#reader.read());
      const isReached = this.#isClosed || await feed.readUpTo(reading.position);
      // The feed cannot reach the read's position if the database was restored after the read.
      if (!isReached) this.invalidate("history_lost");
      else if (!this.#isClosed) await feed.whilePaused(() => this.#adopt(reading));
    } catch (error) {
      // If the database was closed, all streams have already ended, and `fail` does nothing.
      if (error instanceof DatabaseError && error.kind === "overloaded") delayMs = overloadMs;
      else this.fail(error);
    }
    this.#isReading = false;
    if (!this.#isExact) this.#readIn(delayMs);
    else if (this.#events > 0) this.#readIn(checkMs);
  }

  /** Adopts the result of a read. Compares it with the result in memory if both are current. */
  async #adopt({ groups, incremental, position }: AggregateReadResult): Promise<void> {
    const { history, matcher, runtime } = this.#context;
    const round = this.#round;
    const window = history.readFromMemory(historyCursorAt(position), unlimitedWindow);
    const transitions = window === null ? null : await evaluateChanges(window.changes, {
      group: this.#group,
      matcher,
      identity: this.#identity,
    });
    const counted = this.#isExact ? this.#incremental?.groups() ?? null : null;
    this.#incremental = incremental;
    if (incremental === null) this.#memory.release(this);
    else this.#holdGroups();
    this.#events = 0;
    this.#isExact = transitions !== null && this.#round === round;
    if (transitions !== null && transitions.length > 0) this.#count(transitions);
    const isLatest = this.#isExact && this.#events === 0;
    const latest = isLatest ? groups : this.#isExact ? incremental?.groups() ?? null : null;
    if (counted !== null && latest !== null && this.#print(counted) !== this.#print(latest)) {
      runtime.observe({ kind: "aggregate_mismatch", resource: this.query.resource });
    }
    // The result was correct when it was read. The stream shows it although rows have changed
    // since, because waiting for a time without changes might never end.
    const isNewer = this.#shownAt === null || coversPosition(position, this.#shownAt);
    if (isLatest || isNewer) this.#show(groups, position);
    if (this.#isExact && !isLatest) this.#showIn(coalesceMs);
  }
}

/** Delay between a change and its event, in milliseconds. The event includes further changes. */
const coalesceMs = 100;

/** Delay before the next try if the queue for reads was full, in milliseconds. */
const overloadMs = 1_000;

/** How many times an event is delayed because the feed is still reading changes. */
const maxTries = 10;

/** Milliseconds from the first change to the check of the result in memory against the database. */
const checkMs = 60_000;

function tooLarge(): Problem {
  return new Problem("query-too-expensive", "Cannot follow the aggregate: its answer is too large");
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

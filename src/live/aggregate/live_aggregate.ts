import type { Position } from "../../db/changes/change_log.ts";
import { type AggregateGroup as RowGroup, decodeGroups } from "../../db/aggregate_groups.ts";
import type { AggregatePlan } from "../../plan/plan.ts";
import { evaluateChanges } from "../stream/catch_up.ts";
import type { StreamContext } from "../stream_context.ts";
import { eventText, type InvalidationReason, toBytes } from "../dispatch/server_sent_events.ts";
import type {
  LiveQuery,
  SubscriberGroup,
  TransitionListener,
} from "../dispatch/subscriber_group.ts";
import { cursorAt } from "../feed/change_history.ts";
import type { LiveAggregateQuery } from "./live_aggregate_query.ts";
import type { Transition } from "../match/row_change.ts";
import { IncrementalAggregate } from "./incremental_aggregate.ts";
import { type MaintenancePlan, maintenancePlan } from "./maintenance_plan.ts";

/** Somebody who is told of new answers. */
export interface AggregateListener {
  /** There is another {@link LiveAggregate.frame}. */
  show(): void;
  /** There will be none, because of an error of ours. */
  fail(error: unknown): void;
}

/** What the database has answered. */
interface Reading {
  readonly groups: readonly RowGroup[];
  /** What goes on from there in memory; null where the next event must be followed by a reading. */
  readonly incremental: IncrementalAggregate | null;
  readonly position: Position;
}

/**
 * The answer to one question, kept up to date for all who ask it. It is read once with its
 * position; from there a tally goes on by what happens to the rows. Where memory cannot tell what
 * an event comes to, the database is read again, so often that it is at rest four times as long.
 */
export class LiveAggregate implements TransitionListener {
  readonly query: LiveQuery;
  readonly aggregateQuery: LiveAggregateQuery;
  readonly listeners: Set<AggregateListener> = new Set();
  readonly #channel: StreamContext;
  readonly #group: SubscriberGroup;
  readonly #plan: AggregatePlan;
  /** Null where memory is not even tried. */
  #maintenancePlan: MaintenancePlan | null;
  #incremental: IncrementalAggregate | null = null;
  /** Whether what was read and tallied is the answer where the feed stands. */
  #isExact = false;
  /** Events since the last reading. */
  #events = 0;
  /** What the last answer knows of. */
  #shownAt: Position | null = null;
  #text = "";
  #frame: Uint8Array | null = null;
  /** Changes when nobody knows what has happened to the rows. */
  #round = 0;
  #isReading = false;
  #isClosed = false;
  #restsUntil = 0;
  /** When the next reading is due; infinite where none is. */
  #readsAt = Infinity;
  #cancelReading: (() => void) | null = null;
  #cancelShow: (() => void) | null = null;

  /** Begins with a reading. */
  constructor(channel: StreamContext, query: LiveQuery, aggregateQuery: LiveAggregateQuery) {
    this.query = query;
    this.aggregateQuery = aggregateQuery;
    this.#channel = channel;
    this.#plan = { ...aggregateQuery.plan, where: query.filter };
    this.#maintenancePlan = maintenancePlan(this.#plan, aggregateQuery.groups, {
      dialect: query.reader.dialect,
      maxGroups: channel.limits.maxGroupsInMemory,
    });
    this.#group = channel.dispatcher.enter(query);
    this.#group.transitionListeners.add(this);
    void this.#read();
  }

  /** An event with the last answer; null before the first one. */
  get frame(): Uint8Array | null {
    return this.#frame;
  }

  receive(events: readonly Transition[]): void {
    // What is not sure is read again: then these events are in it, or told once more.
    if (!this.#isExact) return;
    this.#count(events);
    if (!this.#isExact) return this.#readIn(coalesceMs);
    this.#readIn(this.#events < this.#channel.limits.maxUncheckedEvents ? checkMs : coalesceMs);
    this.#showIn(coalesceMs);
  }

  invalidate(reason: InvalidationReason): void {
    // What another life of the log knew of is no more than what this one does.
    if (reason === "history_lost") this.#shownAt = null;
    this.#invalidateCount();
  }

  fail(error: unknown): void {
    for (const listener of [...this.listeners]) listener.fail(error);
  }

  /** Follows nothing more. */
  close(): void {
    this.#isClosed = true;
    this.#cancelReading?.();
    this.#cancelShow?.();
    this.#group.transitionListeners.delete(this);
    this.#channel.dispatcher.leave(this.#group);
  }

  #invalidateCount(): void {
    this.#isExact = false;
    this.#round++;
    this.#readIn(coalesceMs);
  }

  #count(events: readonly Transition[]): void {
    const incremental = this.#incremental;
    this.#events += events.length;
    this.#isExact &&= incremental !== null && events.every((event) => incremental.apply(event));
  }

  #showIn(delayMs: number, tries = 1): void {
    if (this.#isClosed) return;
    this.#cancelShow ??= this.#channel.runtime.clock.after(delayMs, () => {
      this.#cancelShow = null;
      // What is read in several steps may be one transaction, and half of it is no answer.
      if (tries < maxTries && !this.#channel.feed.isIdle) this.#showIn(coalesceMs, tries + 1);
      else void this.#showIncremental();
    });
  }

  async #showIncremental(): Promise<void> {
    const { feed } = this.#channel;
    try {
      await feed.whilePaused(() => {
        const groups = this.#isExact ? this.#incremental?.groups() : undefined;
        // Null is what memory cannot compare; the reading that follows can.
        if (groups === null) this.#invalidateCount();
        else if (groups !== undefined) this.#show(groups, feed.position);
      });
    } catch (error) {
      this.fail(error);
    }
  }

  #show(groups: readonly RowGroup[], at: Position): void {
    this.#shownAt = at;
    const text = this.#print(groups);
    if (this.#isClosed || text === this.#text) return;
    this.#text = text;
    this.#frame = toBytes(text);
    for (const listener of [...this.listeners]) listener.show();
  }

  #print(groups: readonly RowGroup[]): string {
    return eventText("aggregate", this.aggregateQuery.present(groups));
  }

  #readIn(delayMs: number): void {
    const { clock } = this.#channel.runtime;
    const now = clock.elapsedMs();
    const at = Math.max(now + delayMs, this.#restsUntil);
    if (this.#isReading || this.#isClosed || at >= this.#readsAt) return;
    this.#cancelReading?.();
    this.#readsAt = at;
    this.#cancelReading = clock.after(at - now, () => void this.#read());
  }

  async #read(): Promise<void> {
    const { feed, semaphore } = this.#channel;
    this.#isReading = true;
    this.#readsAt = Infinity;
    try {
      const reading = await semaphore.run(() => this.#readTimed());
      const isReached = this.#isClosed || await feed.readUpTo(reading.position);
      // Another life of the log has begun behind the reading.
      if (!isReached) this.invalidate("history_lost");
      else if (!this.#isClosed) await feed.whilePaused(() => this.#adopt(reading));
    } catch (error) {
      // Whoever closes the database while this is read has ended all streams before.
      this.fail(error);
    }
    this.#isReading = false;
    if (!this.#isExact) this.#readIn(coalesceMs);
    else if (this.#events > 0) this.#readIn(checkMs);
  }

  async #readTimed(): Promise<Reading> {
    const { clock } = this.#channel.runtime;
    const startedAt = clock.elapsedMs();
    const reading = await this.#readIncremental() ??
      { ...await this.#fetch(this.#plan), incremental: null };
    const now = clock.elapsedMs();
    this.#restsUntil = now + restFactor * (now - startedAt);
    return reading;
  }

  /** Null where memory cannot go on from what is there, and will not be asked to again. */
  async #readIncremental(): Promise<Reading | null> {
    if (this.#maintenancePlan === null) return null;
    const { groups: found, position } = await this.#fetch(this.#maintenancePlan.base);
    const incremental = IncrementalAggregate.of(
      found,
      this.#maintenancePlan,
      this.#channel.matcher,
    );
    const groups = incremental?.groups() ?? null;
    if (groups !== null) return { groups, incremental, position };
    this.#maintenancePlan = null;
    return null;
  }

  async #fetch(plan: AggregatePlan): Promise<Omit<Reading, "incremental">> {
    const { reader } = this.query;
    const { rows, position } = await this.#channel.log.readAt(reader.compile(plan));
    return { groups: decodeGroups(rows, plan, reader), position };
  }

  /** Goes on from a reading. What was counted so far is held against it, where both are sure. */
  async #adopt({ groups, incremental, position }: Reading): Promise<void> {
    const { log, history, matcher, runtime } = this.#channel;
    const round = this.#round;
    const window = history.readFromMemory(cursorAt(position), Infinity);
    const events = window === null
      ? null
      : await evaluateChanges(window.changes, { group: this.#group, matcher });
    const counted = this.#isExact ? this.#incremental?.groups() ?? null : null;
    this.#incremental = incremental;
    this.#events = 0;
    this.#isExact = events !== null && this.#round === round;
    if (events !== null && events.length > 0) this.#count(events);
    const isLatest = this.#isExact && this.#events === 0;
    const latest = isLatest ? groups : this.#isExact ? incremental?.groups() ?? null : null;
    if (counted !== null && latest !== null && this.#print(counted) !== this.#print(latest)) {
      runtime.observe({ kind: "aggregate_mismatch", resource: this.query.resource });
    }
    // It was the answer at that position, whatever has happened since: to wait for a moment without
    // changes could take for ever.
    const isNewer = this.#shownAt === null || log.includes(position, this.#shownAt);
    if (isLatest || isNewer) this.#show(groups, position);
    if (this.#isExact && !isLatest) this.#showIn(coalesceMs);
  }
}

/** Changes that follow each other so fast are one event. */
const coalesceMs = 100;

/** How often an answer waits for a feed that reads on. */
const maxTries = 10;

/** So long after the first event that a tally has counted it is held against the database. */
const checkMs = 60_000;

/** How long the database has rest after a reading, in times of what it took. */
const restFactor = 4;

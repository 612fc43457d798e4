import { type AggregateGroup, decodeGroups } from "../../db/aggregate_groups.ts";
import { coversPosition, type Position } from "../../db/changes/log_position.ts";
import { DatabaseError } from "../../db/database_error.ts";
import type { AggregatePlan } from "../../plan/plan.ts";
import { Problem } from "../../problem/problem.ts";
import { eventText, toBytes } from "../dispatch/server_sent_events.ts";
import { historyCursorAt, unlimitedWindow } from "../feed/change_history.ts";
import type { Transition } from "../match/row_change.ts";
import {
  checkMs,
  type ResultFrame,
  SharedResult,
  type SharedResultOptions,
} from "../result/shared_result.ts";
import { evaluateChanges } from "../stream/render_changes.ts";
import type { ResultQuery } from "../result/result_stream.ts";
import type { AggregateRequest } from "../stream/stream_request.ts";
import type { StreamContext } from "../stream_context.ts";
import { IncrementalAggregate, type LiveAggregateQuery } from "./incremental_aggregate.ts";
import type { GroupHolder, GroupMemory } from "./group_memory.ts";
import { type MaintenancePlan, maintenancePlan } from "./maintained_group.ts";

interface AggregateReadResult {
  readonly groups: readonly AggregateGroup[];
  readonly incremental: IncrementalAggregate | null;
  readonly position: Position;
}

interface LiveAggregateOptions extends SharedResultOptions {
  readonly memory: GroupMemory;
  readonly aggregateQuery: LiveAggregateQuery;
}

/** Keeps an aggregate current in memory while the result is exact, and else reads the database. */
export class LiveAggregate extends SharedResult<AggregateReadResult> implements GroupHolder {
  readonly #aggregateQuery: LiveAggregateQuery;
  readonly #memory: GroupMemory;
  readonly #plan: AggregatePlan;
  /** The plan for maintaining the result in memory; null if only the database can compute it. */
  #maintenancePlan: MaintenancePlan | null;
  /** If the shared memory had no room for the groups: their size in bytes. Otherwise 0. */
  #neededBytes = 0;
  #incremental: IncrementalAggregate | null = null;
  #frame: Uint8Array | null = null;
  #cancelShow: (() => void) | null = null;

  constructor(context: StreamContext, options: LiveAggregateOptions) {
    super(context, options, { semaphore: context.aggregateSemaphore, coalesceMs });
    const { query: { filter, reader: { dialect } }, aggregateQuery } = options;
    const { plan, groups } = aggregateQuery;
    this.#aggregateQuery = aggregateQuery;
    this.#memory = options.memory;
    this.#plan = { ...plan, where: filter };
    const maxGroups = context.limits.maxGroupsInMemory;
    this.#maintenancePlan = maintenancePlan(this.#plan, groups, { dialect, maxGroups });
    void this.read();
  }

  override frameAfter(sent: unknown): ResultFrame | null {
    const bytes = this.#frame;
    return bytes === null || bytes === sent ? null : [bytes, bytes];
  }

  dropGroups(): void {
    if (this.#incremental !== null) this.#neededBytes = this.#incremental.bytes;
    this.#incremental = null;
    this.isExact = false;
    this.readIn(coalesceMs);
  }

  override receive(transitions: readonly Transition[]): void {
    // An outdated result is read again soon. That read will include these transitions.
    if (!this.isExact) return;
    this.#count(transitions);
    if (!this.isExact) return this.readIn(coalesceMs);
    this.readIn(this.events < this.context.limits.maxUncheckedEvents ? checkMs : coalesceMs);
    this.#showIn(coalesceMs);
  }

  protected override close(): void {
    super.close();
    this.#memory.release(this);
    this.#incremental = null;
    this.#cancelShow?.();
  }

  /** Reserves memory for the groups. Without room, the result is read again after each change. */
  #hold(): void {
    if (this.#incremental === null || this.isClosed) return;
    if (!this.#memory.hold(this, this.#incremental.bytes)) this.dropGroups();
  }

  #count(transitions: readonly Transition[]): void {
    const incremental = this.#incremental;
    this.events += transitions.length;
    this.isExact &&= incremental !== null &&
      transitions.every((transition) => incremental.apply(transition));
    this.#hold();
  }

  #showIn(delayMs: number, tries = 1): void {
    if (this.isClosed) return;
    this.#cancelShow ??= this.context.runtime.clock.after(delayMs, () => {
      this.#cancelShow = null;
      // The feed may have published only a part of a transaction. No event may show such a state.
      if (tries < maxTries && !this.context.feed.isIdle) this.#showIn(coalesceMs, tries + 1);
      else void this.#showIncremental();
    });
  }

  async #showIncremental(): Promise<void> {
    const { feed } = this.context;
    try {
      await feed.whilePaused(() => {
        const groups = this.isExact ? this.#incremental?.groups() : undefined;
        // `groups` is null if only the database can evaluate `having` or sort the groups.
        if (groups === null) this.outdate();
        else if (groups !== undefined) this.#show(groups, feed.position);
      });
    } catch (error) {
      this.fail(error);
    }
  }

  #show(groups: readonly AggregateGroup[], at: Position): void {
    this.shownAt = at;
    const frame = toBytes(this.#print(groups));
    if (this.isClosed || (this.#frame !== null && isSame(frame, this.#frame))) return;
    if (frame.length > this.context.limits.maxEventBytes) return this.fail(tooLarge());
    this.#frame = frame;
    void this.showAll();
  }

  #print(groups: readonly AggregateGroup[]): string {
    return eventText("aggregate", this.#aggregateQuery.present(groups));
  }

  protected override async fetch(): Promise<AggregateReadResult> {
    // Twice the limit, because the database also returns hidden metrics and one additional group.
    const maxBytes = 2 * this.context.limits.maxEventBytes;
    return await this.#readIncremental() ??
      { ...await this.#query(this.#plan, maxBytes), incremental: null };
  }

  async #readIncremental(): Promise<AggregateReadResult | null> {
    const plan = this.#maintenancePlan;
    if (plan === null || !this.#memory.hasRoom(this, this.#neededBytes)) return null;
    const { limits: { groupMemory: { perAggregate } }, matcher } = this.context;
    try {
      const { groups: found, position } = await this.#query(plan.base, perAggregate);
      const incremental = IncrementalAggregate.of(found, plan, matcher);
      const isSmall = incremental !== null && incremental.bytes <= perAggregate;
      const groups = isSmall ? incremental.groups() : null;
      if (groups !== null) return { groups, incremental, position };
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.kind !== "too-large") throw error;
    }
    this.#maintenancePlan = null;
    return null;
  }

  async #query(
    plan: AggregatePlan,
    maxBytes: number,
  ): Promise<Omit<AggregateReadResult, "incremental">> {
    const { reader } = this.query;
    const { log, limits: { queryTimeoutMs: timeoutMs } } = this.context;
    const limits = { identity: this.identity, signal: this.closing.signal, maxBytes, timeoutMs };
    const { rows, position } = await log.readAt(reader.compile(plan), limits);
    return { groups: decodeGroups(rows, plan, reader), position };
  }

  /** Adopts the result of a read. Compares it with the result in memory if both are current. */
  protected override async adopt(
    { groups, incremental, position }: AggregateReadResult,
  ): Promise<void> {
    const { history, matcher, runtime } = this.context;
    const round = this.round;
    const window = history.readFromMemory(historyCursorAt(position), unlimitedWindow);
    const transitions = window === null ? null : await evaluateChanges(window.changes, {
      group: this.group,
      matcher,
      identity: this.identity,
    });
    const counted = this.isExact ? this.#incremental?.groups() ?? null : null;
    this.#incremental = incremental;
    if (incremental === null) this.#memory.release(this);
    else this.#hold();
    this.events = 0;
    this.isExact = transitions !== null && this.round === round;
    if (transitions !== null && transitions.length > 0) this.#count(transitions);
    const isLatest = this.isExact && this.events === 0;
    const latest = isLatest ? groups : this.isExact ? incremental?.groups() ?? null : null;
    if (counted !== null && latest !== null && this.#print(counted) !== this.#print(latest)) {
      runtime.observe({ kind: "aggregate_mismatch", resource: this.query.resource });
    }
    // Shows even an outdated result: during constant changes, no result would ever be up to date.
    const isNewer = this.shownAt === null || coversPosition(position, this.shownAt);
    if (isLatest || isNewer) this.#show(groups, position);
    if (this.isExact && !isLatest) this.#showIn(coalesceMs);
  }
}

/** Delay of an event after a change, in milliseconds. The event includes all changes until then. */
const coalesceMs = 100;

/** How many times an event is delayed because the feed is still reading changes. */
const maxTries = 10;

export function aggregateQuery(
  context: StreamContext,
  { aggregateQuery }: AggregateRequest,
  memory: GroupMemory,
): ResultQuery {
  return {
    key: aggregateQuery.key,
    sent: null,
    create: (shared) => new LiveAggregate(context, { ...shared, memory, aggregateQuery }),
  };
}

function tooLarge(): Problem {
  return new Problem("query-too-expensive", "Cannot follow the aggregate: its answer is too large");
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

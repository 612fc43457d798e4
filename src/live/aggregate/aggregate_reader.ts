import { type AggregateGroup, decodeGroups } from "../../db/aggregate_groups.ts";
import type { Position } from "../../db/changes/log_position.ts";
import { DatabaseError } from "../../db/database_error.ts";
import type { AggregatePlan } from "../../plan/plan.ts";
import type { StreamContext } from "../stream_context.ts";
import type { GroupHolder, GroupMemory } from "./group_memory.ts";
import { IncrementalAggregate } from "./incremental_aggregate.ts";
import type { LiveAggregateQuery } from "./live_aggregate_query.ts";
import { type MaintenancePlan, maintenancePlan } from "./maintenance_plan.ts";
import type { LiveQuery } from "../live_query.ts";

/** An answer of the database to an aggregate query, and the position that it was read at. */
export interface AggregateReading {
  readonly groups: readonly AggregateGroup[];
  /** Maintains the answer in memory; null if every event requires another reading. */
  readonly incremental: IncrementalAggregate | null;
  readonly position: Position;
}

/** What the reader of a live aggregate reads, and for which holder of groups. */
export interface AggregateReaderOptions {
  readonly query: LiveQuery;
  readonly aggregateQuery: LiveAggregateQuery;
  readonly memory: GroupMemory;
  readonly holder: GroupHolder;
}

/**
 * The reader of a live aggregate: reads all groups where memory can maintain them and has room for
 * them, else the groups that are shown.
 */
export class AggregateReader {
  readonly #context: StreamContext;
  readonly #options: AggregateReaderOptions;
  readonly #plan: AggregatePlan;
  /** Null if memory cannot maintain the answer. */
  #maintenancePlan: MaintenancePlan | null;
  /** The bytes of the groups, where there was no room for them. */
  #neededBytes = 0;
  #restsUntil = 0;
  readonly #abort = new AbortController();

  constructor(context: StreamContext, options: AggregateReaderOptions) {
    const { query, aggregateQuery: { plan, groups } } = options;
    this.#context = context;
    this.#options = options;
    this.#plan = { ...plan, where: query.filter };
    this.#maintenancePlan = maintenancePlan(this.#plan, groups, {
      dialect: query.reader.dialect,
      maxGroups: context.limits.maxGroupsInMemory,
    });
  }

  /** When the next reading may begin, by the monotonic clock. */
  get restsUntil(): number {
    return this.#restsUntil;
  }

  /** There was no room for groups of so many bytes: they are not read again before there is. */
  noRoomFor(bytes: number): void {
    this.#neededBytes = bytes;
  }

  /** Reads the answer. Rejects where the answer is too large, or takes too long. */
  async read(): Promise<AggregateReading> {
    const { runtime: { clock }, limits } = this.#context;
    // The group that only shows that there are more, and metrics that are not shown, count as well.
    const maxAnswerBytes = 2 * limits.maxEventBytes;
    const startedAt = clock.elapsedMs();
    const reading = await this.#readIncremental() ??
      { ...await this.#fetch(this.#plan, maxAnswerBytes), incremental: null };
    const now = clock.elapsedMs();
    this.#restsUntil = now + restFactor * (now - startedAt);
    return reading;
  }

  /** Ends a reading that is underway. */
  close(): void {
    this.#abort.abort();
  }

  /** Null if memory cannot maintain what was read, or has no room for it. */
  async #readIncremental(): Promise<AggregateReading | null> {
    const { memory, holder } = this.#options;
    if (this.#maintenancePlan === null || !memory.hasRoom(holder, this.#neededBytes)) return null;
    try {
      return await this.#readGroups(this.#maintenancePlan);
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.kind !== "too-large") throw error;
      this.#maintenancePlan = null;
      return null;
    }
  }

  /** Null if memory cannot maintain what was read; then it is not tried again. */
  async #readGroups(plan: MaintenancePlan): Promise<AggregateReading | null> {
    const { limits: { groupMemory: { perAggregate } }, matcher } = this.#context;
    const { groups: found, position } = await this.#fetch(plan.base, perAggregate);
    const incremental = IncrementalAggregate.of(found, plan, matcher);
    const isSmall = incremental !== null && incremental.bytes <= perAggregate;
    const groups = isSmall ? incremental.groups() : null;
    if (groups !== null) return { groups, incremental, position };
    this.#maintenancePlan = null;
    return null;
  }

  async #fetch(
    plan: AggregatePlan,
    maxBytes: number,
  ): Promise<Omit<AggregateReading, "incremental">> {
    const { query: { reader }, holder: { identity } } = this.#options;
    const { log, limits: { queryTimeoutMs: timeoutMs } } = this.#context;
    const limits = { identity, signal: this.#abort.signal, maxBytes, timeoutMs };
    const { rows, position } = await log.readAt(reader.compile(plan), limits);
    return { groups: decodeGroups(rows, plan, reader), position };
  }
}

/** The pause after a reading, in multiples of its duration. */
const restFactor = 4;

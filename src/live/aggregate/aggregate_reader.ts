import { type AggregateGroup, decodeGroups } from "../../db/aggregate_groups.ts";
import type { Position } from "../../db/changes/log_position.ts";
import { DatabaseError } from "../../db/database_error.ts";
import type { AggregatePlan } from "../../plan/plan.ts";
import type { StreamContext } from "../stream_context.ts";
import type { GroupHolder, GroupMemory } from "./group_memory.ts";
import { IncrementalAggregate, type LiveAggregateQuery } from "./incremental_aggregate.ts";
import { type MaintenancePlan, maintenancePlan } from "./maintained_group.ts";
import type { LiveQuery } from "../live_view.ts";

export interface AggregateReadResult {
  readonly groups: readonly AggregateGroup[];
  /** Maintains the result in memory; null if the database must compute it after each change. */
  readonly incremental: IncrementalAggregate | null;
  readonly position: Position;
}

/** The query of a live aggregate, and the shared memory that its groups use. */
export interface AggregateReaderOptions {
  readonly query: LiveQuery;
  readonly aggregateQuery: LiveAggregateQuery;
  readonly memory: GroupMemory;
  readonly holder: GroupHolder;
}

/** Reads a live aggregate: all groups if they fit into memory, else the groups that clients see. */
export class AggregateReader {
  readonly #context: StreamContext;
  readonly #options: AggregateReaderOptions;
  readonly #plan: AggregatePlan;
  /** The plan for maintaining the result in memory; null if only the database can compute it. */
  #maintenancePlan: MaintenancePlan | null;
  /** Size in bytes of the groups that found no room in the shared memory; 0 if they had room. */
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

  /** Earliest time of the next read, in milliseconds of the monotonic clock. */
  get restsUntil(): number {
    return this.#restsUntil;
  }

  /** Records that groups of this size did not fit. They are read again only if there is room. */
  noRoomFor(bytes: number): void {
    this.#neededBytes = bytes;
  }

  /** Reads the result. Rejects if the result is too large or the query takes too long. */
  async read(): Promise<AggregateReadResult> {
    const { runtime: { clock }, limits } = this.#context;
    // The database also returns hidden metrics and one extra group, so the limit is doubled.
    const maxAnswerBytes = 2 * limits.maxEventBytes;
    const startedAt = clock.elapsedMs();
    const reading = await this.#readIncremental() ??
      { ...await this.#fetch(this.#plan, maxAnswerBytes), incremental: null };
    const now = clock.elapsedMs();
    this.#restsUntil = now + restFactor * (now - startedAt);
    return reading;
  }

  close(): void {
    this.#abort.abort();
  }

  /** Reads all groups to maintain them in memory. Returns null if this is impossible. */
  async #readIncremental(): Promise<AggregateReadResult | null> {
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

  /** Reads all groups. If memory cannot hold them exactly, returns null and never tries again. */
  async #readGroups(plan: MaintenancePlan): Promise<AggregateReadResult | null> {
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
  ): Promise<Omit<AggregateReadResult, "incremental">> {
    const { query: { reader }, holder: { identity } } = this.#options;
    const { log, limits: { queryTimeoutMs: timeoutMs } } = this.#context;
    const limits = { identity, signal: this.#abort.signal, maxBytes, timeoutMs };
    const { rows, position } = await log.readAt(reader.compile(plan), limits);
    return { groups: decodeGroups(rows, plan, reader), position };
  }
}

/** After a read, the reader pauses for the duration of the read times this factor. */
const restFactor = 4;

import type { Credentials } from "../../src/auth/authenticator.ts";
import type { AccessPolicy, ScopeFunction, User } from "../../src/auth/authorize.ts";
import { fetchGroups } from "../../src/db/aggregate_groups.ts";
import type { ChangeLog } from "../../src/db/changes/change_log.ts";
import { resolveChangesOptions } from "../../src/db/changes/changes_options.ts";
import { openChangeLog } from "../../src/db/changes/open_change_log.ts";
import { createRowReader } from "../../src/db/rows.ts";
import { allRows, type Filter } from "../../src/filter/filter.ts";
import { createMatcher, type Matcher } from "../../src/live/match/matcher.ts";
import { GroupMemory } from "../../src/live/aggregate/group_memory.ts";
import { LiveHub } from "../../src/live/live_hub.ts";
import type { LiveAggregateQuery } from "../../src/live/aggregate/incremental_aggregate.ts";
import { StreamQuota } from "../../src/live/stream/stream_quota.ts";
import { type LiveLimits, liveLimits } from "../../src/live/live_limits.ts";
import type { AggregateRequest, SubscribeRequest } from "../../src/live/stream/stream_request.ts";
import { noRowsShown } from "../../src/live/live_view.ts";
import { createAggregateColumns } from "../../src/plan/aggregate_columns.ts";
import { parseQuery } from "../../src/resource/http/query_parameters.ts";
import { parseLiveAggregateQuery } from "../../src/resource/operations/aggregate.ts";
import { createCachingFilterParser } from "../../src/filter/syntax/caching_filter_parser.ts";
import { Chance } from "./checker/chance.ts";
import { logMethods } from "./log_methods.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { ColumnInfo, Row, TableInfo } from "../../src/schema/table_info.ts";
import { handClock } from "../db/hand_clock.ts";
import type { Engine } from "../support/engines.ts";
import { type EventStream, openEventStream, type ServerEvent } from "../support/event_stream.ts";
import { tableInfoOf, type TableLike } from "../../src/schema/table_like.ts";
import type { Database } from "../../src/db/database.ts";

/** A hub over a real log, with a clock that is moved by hand. */
export interface TestHub {
  readonly db: Database;
  readonly hub: LiveHub;
  /** Of its aggregates. */
  readonly groupMemory: GroupMemory;
  readonly log: ChangeLog;
  readonly observations: readonly Observation[];
  /** In steps, because timers make timers. */
  advance(ms: number, stepMs?: number): Promise<void>;
  sql(text: string): Promise<void>;
  subscribe(request?: Partial<SubscribeRequest>): Promise<EventStream>;
  /** A stream of groups; `query` is that of an aggregate. */
  aggregate(query: string, request?: Partial<AggregateRequest>): Promise<EventStream>;
  /** The answer of the database to the query of an aggregate, now. */
  answer(query: string): Promise<unknown>;
  /** A stream of rows, for tests that read by themselves. */
  open(request?: Partial<SubscribeRequest>): Promise<ReadableStream<Uint8Array>>;
  /** Subscribes at a second hub, as another process would. */
  elsewhere(
    request: Partial<SubscribeRequest>,
    work: (stream: EventStream) => Promise<void>,
  ): Promise<void>;
}

/** The options of a test hub. */
export interface TestHubOptions {
  readonly credentials?: Pick<Credentials, "of">;
  /** The columns that are never recorded. */
  readonly excluded?: ReadonlySet<ColumnInfo>;
  /** Tables beside the one that is followed. */
  readonly related?: readonly TableLike<unknown, unknown>[];
  readonly limits?: Partial<LiveLimits>;
  /** Puts itself around the log. */
  wrap?(log: ChangeLog): ChangeLog;
  /** Puts itself around what decides. */
  wrapMatcher?(matcher: Matcher): Matcher;
}

/** Runs `work` against a hub over a fresh database with one table. */
export async function withHub(
  engine: Engine,
  table: TableLike<unknown, unknown>,
  options: TestHubOptions,
  work: (test: TestHub) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  const { clock, advance } = handClock();
  const observations: Observation[] = [];
  const chance = new Chance(1);
  const runtime = {
    ...systemRuntime((observed) => observations.push(observed)),
    clock,
    // The lives of streams and the times between their heartbeats are the same in every run.
    random: { bytes: (length: number) => Uint8Array.from({ length }, () => chance.below(256)) },
  };
  const info = tableInfoOf(table);
  const { related = [] } = options;
  await db.createTables([...related, table]);
  const tables = [info, ...related.map(tableInfoOf)];
  const raw = await openChangeLog({
    driver: db.driver,
    tables,
    changes: { ...resolveChangesOptions(), exclude: options.excluded ?? new Set() },
    runtime,
  });
  const log = options.wrap?.(raw) ?? raw;
  const limits = { ...liveLimits, ...options.limits };
  const groupMemory = new GroupMemory(limits.groupMemory);
  const matcher = createMatcher(db.driver, runtime);
  const hubOver = (log: ChangeLog) =>
    new LiveHub({
      openLog: () => Promise.resolve(log),
      matcher: options.wrapMatcher?.(matcher) ?? matcher,
      runtime,
      limits,
      groupMemory,
      excluded: options.excluded ?? new Set(),
      credentials: options.credentials ?? { of: () => null },
      recheckMs: 5_000,
      quota: new StreamQuota({ maxPerUser: 10_000, maxPerAddress: 10_000 }),
    });
  const hub = hubOver(log);
  const open = (request: Partial<SubscribeRequest> = {}) =>
    own(hub.subscribe({ ...requestFor(info, db), ...request }));
  try {
    await hub.start();
    await work({
      db,
      hub,
      groupMemory,
      log,
      observations,
      async advance(ms, stepMs = ms) {
        for (let left = ms; left > 0; left -= stepMs) {
          advance(stepMs);
          await Promise.resolve();
        }
        await untilIdle();
      },
      async sql(text) {
        await db.driver.query({ text, values: [] });
      },
      open,
      async elsewhere(request, work) {
        const other = hubOver(
          await openChangeLog({
            driver: db.driver,
            tables,
            changes: resolveChangesOptions(),
            runtime,
          }),
        );
        const stream = await read(own(other.subscribe({ ...requestFor(info, db), ...request })));
        await work(stream);
        await stream.close();
        await other.close();
      },
      subscribe: (request) => read(open(request)),
      async answer(query) {
        const { plan, present } = aggregateOf(info, query);
        const reader = createRowReader(db.dialect, () => {});
        return present(await fetchGroups(db.driver, { ...plan, where: allRows }, reader));
      },
      aggregate: (query, request) =>
        read(own(
          hub.subscribeAggregate({
            ...requestFor(info, db),
            view: noRowsShown,
            aggregateQuery: aggregateOf(info, query),
            ...request,
          }),
        )),
    });
  } finally {
    await hub.close();
    await db.close();
  }
}

/** Calls back before and after each look at the log: those are the moments between which all is. */
export function spied(log: ChangeLog, moment: () => Promise<void>): ChangeLog {
  const around = async <T>(work: () => Promise<T>): Promise<T> => {
    await moment();
    const result = await work();
    await moment();
    return result;
  };
  return {
    ...logMethods(log),
    end: () => around(() => log.end()),
    next: (from) => around(() => log.next(from)),
    readAt: (statement) => around(() => log.readAt(statement)),
  };
}

/** What a client has received up to now. */
export interface Received<T> {
  readonly sent: T[];
  readonly stream: EventStream;
  readonly end: Promise<void>;
}

/** Reads whatever comes, as a client does that keeps up. */
export function readAll<T>(stream: EventStream, take: (event: ServerEvent) => T): Received<T> {
  const sent: T[] = [];
  const readOn = async () => {
    for (let event = await stream.next(); event !== null; event = await stream.next()) {
      sent.push(take(event));
    }
  };
  return { sent, stream, end: readOn() };
}

/** Ends a stream that is being read. */
export async function close({ stream, end }: Received<unknown>): Promise<void> {
  await stream.close();
  await end;
}

/** Lets whatever is on its way arrive. */
export async function untilIdle(turns = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
  }
}

function read(bytes: Promise<ReadableStream<Uint8Array>>): Promise<EventStream> {
  return openEventStream(async () => new Response(await bytes), () => {});
}

/** None of these streams is a part of another one. */
async function own(
  opened: Promise<ReadableStream<Uint8Array> | null>,
): Promise<ReadableStream<Uint8Array>> {
  const stream = await opened;
  if (stream === null) throw new Error("The stream is a part of another one");
  return stream;
}

/** All columns of these tables may be filtered by. */
function aggregateOf(table: TableInfo, query: string): LiveAggregateQuery {
  const columns = new Set(table.columns);
  return parseLiveAggregateQuery(parseQuery(query), {
    table,
    groups: createAggregateColumns(table, table.columns),
    filters: createCachingFilterParser(),
    safeNumbers: false,
    fields: {
      ...{ readable: table.columns, selectable: table.columns },
      writable: columns,
      immutable: new Set(),
      filterable: columns,
      sortable: columns,
    },
  });
}

/** A policy by which every user sees what `scope` says. */
export function policyOf(scope: ScopeFunction): AccessPolicy {
  return {
    public: new Set(),
    publicScopes: new Map(),
    scopes: new Map([["subscribe", scope]]),
    // The scopes of these tests are filters.
    resolve: (result) => result as Filter,
  };
}

function requestFor(table: TableInfo, db: Database): SubscribeRequest {
  return {
    resource: "/api/rows",
    access: "subscribe",
    policy: { ...policyOf(() => allRows), public: new Set(["subscribe"]) },
    user: null,
    sameFieldsAs: null,
    address: null,
    table,
    reader: createRowReader(db.dialect, () => {}),
    view: {
      key: "all",
      shape: "all",
      safeNumbers: false,
      shown: [],
      rights: [],
      present: (rows) => rows,
    },
    scope: allRows,
    filter: allRows,
    resumeFrom: null,
    window: null,
    skipExisting: false,
    disconnected: new Promise(() => {}),
    part: null,
  };
}

/** A user of these tests. */
export function user(id: string, claims: Readonly<Record<string, unknown>> = {}): User {
  return { id, claims };
}

/** A client as the documents describe it: it keeps rows by id, and starts over at an invalidation. */
export class Client {
  readonly rows = new Map<unknown, Row>();
  /** Events that a client which lost nothing could not have received. */
  readonly faults: string[] = [];
  readonly #seqs = new Map<unknown, number>();
  #isSynced = false;

  /** Whether the snapshot is complete. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Takes an event. */
  take({ type, data }: ServerEvent): void {
    if (type === "invalidate") {
      this.rows.clear();
      this.#seqs.clear();
      this.#isSynced = false;
    } else if (type === "existing") {
      for (const item of data.items) this.#put(item.id, item, "existing");
      if (!data.hasMore) this.#isSynced = true;
    } else {
      this.#change(type, data);
    }
  }

  #change(type: string, data: { seq: number; id?: unknown; item?: Row }): void {
    const id = type === "removed" ? data.id : data.item?.["id"];
    const seq = this.#seqs.get(id) ?? 0;
    if (data.seq <= seq) this.faults.push(`${type} ${id} came again`);
    this.#seqs.set(id, data.seq);
    const isKnown = this.rows.has(id);
    if (isKnown !== (type !== "added")) this.faults.push(`${type} ${id}, known: ${isKnown}`);
    if (data.item === undefined) this.rows.delete(id);
    else this.#put(id, data.item, type);
  }

  #put(id: unknown, item: Row, type: string): void {
    if (type === "existing" && this.rows.has(id)) this.faults.push(`existing ${id} came again`);
    this.rows.set(id, item);
  }
}

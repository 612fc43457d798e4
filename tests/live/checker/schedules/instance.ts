import { emptyTableFacts, RoleRights } from "../../../../src/db/tables/table_facts.ts";
import type { User } from "../../../../src/auth/authorize.ts";
import type { ChangeLog } from "../../../../src/db/changes/change_log.ts";
import { resolveChangesOptions } from "../../../../src/db/changes/changes_options.ts";
import { openChangeLog } from "../../../../src/db/changes/open_change_log.ts";
import { createCachingFilterParser } from "../../../../src/filter/syntax/caching_filter_parser.ts";
import { createMatcher, type Matcher } from "../../../../src/live/match/matcher.ts";
import { GroupMemory } from "../../../../src/live/aggregate/group_memory.ts";
import { LiveHub, type LiveHubOptions } from "../../../../src/live/live_hub.ts";
import { StreamQuota } from "../../../../src/live/stream/stream_quota.ts";
import type { LiveLimits } from "../../../../src/live/live_limits.ts";
import type { SubscribeRequest } from "../../../../src/live/stream/stream_request.ts";
import { resolveAbuseProtection } from "../../../../src/guard/abuse_protection_options.ts";
import { createGuard } from "../../../../src/guard/guard.ts";
import { openStoreByUrl } from "../../../../src/engines/open_driver.ts";
import { openKeyValueStore } from "../../../../src/kv/open_key_value_store.ts";
import { Problem, problemReply } from "../../../../src/problem/problem.ts";
import type { Reply } from "../../../../src/protocol/reply.ts";
import type { ResourceDefinition } from "../../../../src/resource/define/resource_definition.ts";
import { RequestScheduler } from "../../../../src/resource/http/request_scheduler.ts";
import { createRequestHandler } from "../../../../src/resource/routes/request_handler.ts";
import { createRouteTable, methodProblem } from "../../../../src/resource/routes/route_table.ts";
import { LargeBodyLimiter } from "../../../../src/resource/http/large_bodies.ts";
import { ReceivingBodyLimiter } from "../../../../src/resource/http/request_body.ts";
import { InflightResponses } from "../../../../src/resource/http/inflight_responses.ts";
import { createEtagKeys } from "../../../../src/resource/define/resolve_etag.ts";
import { readDefinition } from "../../../../src/resource/define/check_resource_definition.ts";
import { resolveRelations } from "../../../../src/resource/define/resolve_relations.ts";
import type { Resource } from "../../../../src/resource/model/resource.ts";
import {
  resolveResource,
  type ResourceContext,
} from "../../../../src/resource/define/resolve_resource.ts";
import { createSealer } from "../../../../src/runtime/sealer.ts";
import type { Runtime } from "../../../../src/runtime/runtime.ts";
import { SearchIndexes } from "../../../../src/search/search_indexes.ts";
import { parseRequestTarget } from "../../../../src/resource/http/request_target.ts";
import { type Gate, gatedLog, limitedMatcher } from "./gate.ts";
import { tables } from "./world.ts";
import type { Database } from "../../../../src/db/database.ts";

/** A service over a database that others may serve as well. */
export interface Instance {
  readonly db: Database;
  /** Without a gate. */
  readonly log: ChangeLog;
  /** The requests of streams, by the promises of their disconnections. */
  readonly requests: ReadonlyMap<Promise<unknown>, SubscribeRequest>;
  /** Never rejects for the caller's faults. */
  answer(request: Request, gone?: Promise<unknown>): Promise<Reply>;
  close(): Promise<void>;
}

/** What is put in the place of a sound part, to see whether the checker finds out. */
export interface Fault {
  log?(log: ChangeLog, db: Database): ChangeLog;
  matcher?(matcher: Matcher): Matcher;
  request?(request: SubscribeRequest): SubscribeRequest;
  stream?(stream: ReadableStream<Uint8Array>): ReadableStream<Uint8Array>;
}

/** What an instance is made of. */
export interface InstanceOptions {
  readonly db: Database;
  readonly resources: readonly ResourceDefinition[];
  readonly limits: LiveLimits;
  readonly runtime: Runtime;
  readonly semaphore: Gate;
  readonly fault: Fault;
}

/** Assembled as `createApp` does it, but for a hub whose sizes and log are the test's. */
export async function openInstance(options: InstanceOptions): Promise<Instance> {
  const { db, limits, runtime, semaphore, fault } = options;
  const changes = resolveChangesOptions();
  const log = await openChangeLog({
    driver: db.driver,
    tables: Object.values(tables),
    changes,
    runtime,
  });
  const faultyLog = fault.log?.(log, db) ?? log;
  const matcher = createMatcher(db.driver, runtime);
  const hub = new WatchedHub({
    openLog: () => Promise.resolve(gatedLog(faultyLog, semaphore)),
    matcher: limitedMatcher(fault.matcher?.(matcher) ?? matcher, semaphore),
    runtime,
    limits,
    credentials: { of: () => null },
    recheckMs: 5_000,
    excluded: new Set(),
    groupMemory: new GroupMemory(limits.groupMemory),
    quota: new StreamQuota({ maxPerUser: 1_000, maxPerAddress: 1_000 }),
  }, fault);
  await hub.start();
  const answer = await answering(options, hub);
  return {
    db,
    log,
    requests: hub.requests,
    answer,
    async close() {
      await hub.close();
      await db.close();
    },
  };
}

class WatchedHub extends LiveHub {
  readonly requests = new Map<Promise<unknown>, SubscribeRequest>();
  readonly #fault: Fault;

  constructor(options: LiveHubOptions, fault: Fault) {
    super(options);
    this.#fault = fault;
  }

  override async subscribe(request: SubscribeRequest): Promise<ReadableStream<Uint8Array>> {
    this.requests.set(request.disconnected, request);
    const { request: change, stream: pipe } = this.#fault;
    const stream = await super.subscribe(change?.(request) ?? request);
    if (stream === null) throw new Error("The stream is a part of another one");
    return pipe?.(stream) ?? stream;
  }
}

async function answering(
  { db, resources: given, runtime }: InstanceOptions,
  hub: LiveHub,
): Promise<Instance["answer"]> {
  const definitions = given.map(readDefinition);
  const abuse = resolveAbuseProtection(undefined, false, runtime);
  const guard = createGuard({
    abuse,
    store: await openKeyValueStore(undefined, runtime, openStoreByUrl),
    runtime,
  });
  const secret = "a secret for the tests only";
  const context: ResourceContext = {
    shared: {
      identityOf: null,
      tables: [],
      served: { get: (table) => resources.find((resource) => resource.table === table) },
      isIndexed: () => false,
      roleRights: new RoleRights([], runtime),
      readCosts: { maxAnswerBytes: 16 * 1024 * 1024, queryTimeoutMs: 5_000 },
      inflight: new InflightResponses(),
      filters: createCachingFilterParser(),
      sealer: createSealer([secret], runtime.random),
      runtime,
    },
    basePath: "/api",
    driver: db.driver,
    writeBy: (driver) => driver,
    recordingOf: () => null,
    relations: resolveRelations(definitions, db.driver),
    guard,
    filledByRelation: new Set(),
    varying: new Set(),
    facts: emptyTableFacts(),
    apiOf: () => {
      throw new Error("Nothing calls operations from code here");
    },
    hubOf: () => hub,
    searchIndexes: new SearchIndexes(null, null, runtime),
    tagKeys: createEtagKeys([secret]),
    maxFields: null,
  };
  const resources: readonly Resource[] = definitions.map((one) => resolveResource(one, context));
  const receiving = new ReceivingBodyLimiter(runtime.clock);
  const limits = { bodyLimit: 1_000_000, bodyTimeoutMs: 10_000, receiving };
  const table = createRouteTable(resources);
  const answerRequest = createRequestHandler({
    limits,
    guard,
    idempotency: null,
    trustedProxies: 0,
    turns: new RequestScheduler(runtime.clock),
    largeBodies: new LargeBodyLimiter(runtime.clock),
    slowRoutes: new WeakSet(),
    clock: runtime.clock,
  });
  return async (request, gone) => {
    const id = request.headers.get("x-user");
    const user: User | null = id === null ? null : { id };
    try {
      const target = parseRequestTarget(request.url);
      const routes = table.at(target.path);
      const route = routes?.get(request.method);
      if (route === undefined) throw methodProblem(request.method, routes?.keys() ?? []);
      const caller = {
        user: () => user,
        address: () => null,
        delivered: () => gone ?? null,
        receivedBody: () => null,
        readBodyBefore: () => null,
        part: () => null,
      };
      return await answerRequest(route, { request, target, caller });
    } catch (error) {
      if (error instanceof Problem) return problemReply(error);
      throw error;
    }
  };
}

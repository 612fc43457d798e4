import { createUserReader } from "./auth/user.ts";
import { type AppConfig, resolveConfig, type ResolvedConfig } from "./config.ts";
import { checkTables } from "./db/check_tables.ts";
import type { Driver } from "./db/driver.ts";
import { leadingColumns } from "./db/leading_columns.ts";
import { createFilterParser } from "./filter/syntax/filter_parser.ts";
import { createGuard, type Guard } from "./guard/guard.ts";
import { Problem } from "./problem/problem.ts";
import { problemReply } from "./problem/problem_reply.ts";
import type { Reply } from "./protocol/reply.ts";
import { checkOptions } from "./resource/define/check_options.ts";
import {
  createIdempotentAnswers,
  type IdempotentAnswers,
} from "./resource/http/idempotent_answers.ts";
import { mountResources, type ResourceTable, type Target } from "./resource/http/mount.ts";
import { describeResource, type ResourceSummary } from "./resource/define/summary.ts";
import { LiveHubs } from "./resource/stream/live_hubs.ts";
import { type RecordedDriver, recordedDrivers } from "./resource/define/recorded_drivers.ts";
import type { Resource } from "./resource/define/resource.ts";
import { createTagKeys } from "./resource/define/resolve_etag.ts";
import { resolveNestedWrites } from "./resource/define/resolve_nested_writes.ts";
import { resolveRelations } from "./resource/define/resolve_relations.ts";
import { resolveResource } from "./resource/define/resolve_resource.ts";
import { type AppStore, openKeyValueStore } from "./kv/open_key_value_store.ts";
import { createSealer } from "./runtime/sealer.ts";
import type { Runtime } from "./runtime/runtime.ts";
import { claimWorker, type WorkerClaim } from "./runtime/worker_claim.ts";
import { storeProblem } from "./kv/store_error.ts";
import { consoleObserver } from "./runtime/console_observer.ts";
import { systemRuntime } from "./runtime/system_runtime.ts";
import type { ColumnInfo, TableInfo } from "./schema/table_info.ts";
import { createHostCheck } from "./service/host_check.ts";
import { createResponder, type Responder } from "./service/respond.ts";
import { type ServiceRoutes, serviceRoutes } from "./service/service_routes.ts";
import { parseTarget } from "./service/target.ts";
import { type RouterAnswer, throughMiddleware } from "./service/through_middleware.ts";

/** An assembled service without a listener. */
export interface App {
  /** Answers one request; never rejects. `info` says where it came from. */
  fetch(request: Request, info?: RequestInfo): Promise<Response>;
  /** From now on `/readyz` answers 503, and live streams end one after the other. */
  drain(): void;
  /** Closes the databases and the key-value store. */
  close(): Promise<void>;
  /** What is served, for banners and descriptions. */
  readonly resources: readonly ResourceSummary[];
}

/** What a listener knows of a connection; `Deno.ServeHandlerInfo` is one. */
export interface RequestInfo {
  /** The address of the socket at the other end. */
  readonly remoteAddr?: { readonly transport?: string; readonly hostname?: string } | undefined;
  /**
   * Settles when the answer was sent, or can be sent no more. Where it is missing, the signal of
   * the request tells that a client has left a live stream.
   */
  readonly completed?: Promise<unknown> | undefined;
}

/**
 * Assembles the service: the one place where its parts meet. Throws a plain Error that names the
 * option at fault.
 *
 * @example
 * ```ts
 * import { all, createApp, integer, openDatabase, resource, table, text } from "@svc/resource-api";
 *
 * const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
 * const db = await openDatabase("sqlite::memory:");
 * await db.createTables([notes]);
 * const app = await createApp({
 *   db,
 *   secret: "sixteen or more characters",
 *   resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
 * });
 * const answer = await app.fetch(new Request("http://localhost/api/notes"));
 * console.log(await answer.json()); // { items: [], nextCursor: null, hasMore: false }
 * await app.close();
 * ```
 */
export async function createApp(config: AppConfig): Promise<App> {
  const runtime = config.runtime ?? systemRuntime(consoleObserver());
  const resolved = resolveConfig(config, runtime);
  const worker = await requireSoleWorker(resolved, runtime);
  try {
    const app = await open(config, resolved, runtime);
    return { ...app, close: () => app.close().finally(() => worker?.release()) };
  } catch (error) {
    worker?.release();
    throw error;
  }
}

async function open(config: AppConfig, resolved: ResolvedConfig, runtime: Runtime): Promise<App> {
  const store = await openKeyValueStore(config.kv, runtime);
  try {
    return await assemble(config, { resolved, runtime, store });
  } catch (error) {
    // What was open before stays open, like the databases.
    if (typeof config.kv === "string") await store.close();
    throw error;
  }
}

/** Where a secret is random, each worker of a process would have one of its own. */
async function requireSoleWorker(
  { missingSecrets }: ResolvedConfig,
  { clock, observe }: Runtime,
): Promise<WorkerClaim | null> {
  if (missingSecrets.length === 0) return null;
  const worker = await claimWorker(clock);
  if (worker.isAlone) return worker;
  worker.release();
  const error = new Error(
    "Cannot start several workers of one process without a secret: each would have a random one, " +
      `and refuse what the others have sealed (set ${missingSecrets.join(" and ")})`,
  );
  // `deno serve` prints nothing of a worker that fails.
  observe({ kind: "worker_refused", error });
  throw error;
}

interface AppContext {
  readonly resolved: ResolvedConfig;
  readonly runtime: Runtime;
  readonly store: AppStore;
}

async function assemble(config: AppConfig, context: AppContext): Promise<App> {
  const { resolved, runtime, store } = context;
  config.resources.forEach(checkOptions);
  const recorded = await recordedDrivers(config, resolved.changes, runtime.random);
  const hubs = new LiveHubs({ recorded, limits: resolved.subscribe, runtime });
  const { abuse } = resolved;
  const guard = createGuard({ abuse, store, runtime });
  const indexed = new Set<ColumnInfo>();
  const parts: AppOptions = { resolved, guard, hubs, recorded, indexed, runtime };
  const resources = resolveResources(config, parts);
  await checkTables(resources, runtime.observe);
  for (const column of await leadingColumns(resources)) indexed.add(column);
  await hubs.open(resources);
  const databases = driversOf(config);
  const keys = idempotentAnswers(context);
  await keys?.prepare(new Set(resources.map(({ driver }) => driver)));
  let draining = false;
  const service = serviceRoutes({
    health: resolved.health,
    databases: [...databases],
    store: store.configured,
    clock: runtime.clock,
    isDraining: () => draining,
  });
  const table = mountResources(resources, {
    limits: resolved,
    guard,
    keys,
    trustedProxies: abuse.trustProxy,
    clock: runtime.clock,
  });
  const responder = createResponder(resolved.securityHeaders, runtime.observe);
  const answer = answering(table, service, responder, runtime);
  const fail = (error: unknown, request: Request): Response => {
    const reply = failure(error, request.method, parseTarget(request.url), runtime);
    return responder.respond(reply, request.method);
  };
  const answerAll = throughMiddleware({
    before: resolved.middleware,
    routes: config.auth?.routes,
    routesPath: `${resolved.basePath}/auth`,
    answer,
    readUser: createUserReader(runtime.observe),
    fail,
    adopt: responder.adopt,
  });
  const hasPlainHost = createHostCheck();
  return {
    // Before any middleware: those look at the path, too.
    fetch: (request, info) =>
      hasPlainHost(request)
        ? answerAll(request, info)
        : Promise.resolve(fail(new Problem("invalid-parameter", strangeHost), request)),
    drain() {
      draining = true;
      void hubs.drain(drainWindowMs);
    },
    async close() {
      await Promise.all([hubs.close(), guard.close()]);
      await Promise.all([...databases, store].map((one) => one.close()));
    },
    resources: resources.map(describeResource),
  };
}

const strangeHost = "Cannot answer under this Host: it must be a host with an optional port";

/** Well within the time that a listener gives to requests in flight. */
const drainWindowMs = 5_000;

function driversOf({ db, resources }: AppConfig): ReadonlySet<Driver> {
  return new Set([db.driver, ...resources.map(({ options }) => (options.db ?? db).driver)]);
}

function idempotentAnswers({ resolved, runtime, store }: AppContext): IdempotentAnswers | null {
  const { idempotency: options } = resolved;
  return options === null ? null : createIdempotentAnswers({ options, store, runtime });
}

/** What resources are settled with, beside the configuration. */
interface AppOptions {
  readonly resolved: ResolvedConfig;
  readonly guard: Guard;
  readonly hubs: LiveHubs;
  readonly recorded: ReadonlyMap<Driver, RecordedDriver>;
  /** The columns that indexes begin with; filled once the database was asked. */
  readonly indexed: ReadonlySet<ColumnInfo>;
  readonly runtime: Runtime;
}

function resolveResources(
  config: AppConfig,
  { resolved, guard, hubs, recorded, indexed, runtime }: AppOptions,
): readonly Resource[] {
  const relations = resolveRelations(config.resources, config.db.driver);
  const byTable = new Map<TableInfo, Resource>();
  const context = {
    basePath: resolved.basePath,
    driver: config.db.driver,
    writeBy: (driver: Driver) => recorded.get(driver)?.driver ?? driver,
    guard,
    filters: createFilterParser(),
    sealer: createSealer(resolved.secrets, runtime.random),
    relations,
    filledByRelation: resolveNestedWrites(config.resources, relations),
    resourceOf: (table: TableInfo) => byTable.get(table),
    isIndexed: (column: ColumnInfo) => indexed.has(column),
    hubOf: (driver: Driver) => hubs.of(driver),
    tagKeys: createTagKeys(resolved.secrets),
    runtime,
  };
  const resources = config.resources.map((definition) => resolveResource(definition, context));
  for (const resource of resources) {
    if (!byTable.has(resource.table)) byTable.set(resource.table, resource);
  }
  return resources;
}

function answering(
  table: ResourceTable,
  service: ServiceRoutes,
  responder: Responder,
  runtime: Runtime,
): RouterAnswer {
  return async function answer(request, caller) {
    const target = parseTarget(request.url);
    try {
      const reply =
        await (table.answer(request, target, caller) ?? service(request.method, target));
      return responder.respond(reply, request.method);
    } catch (error) {
      return responder.respond(failure(error, request.method, target, runtime), request.method);
    }
  };
}

function failure(thrown: unknown, method: string, target: Target, runtime: Runtime): Reply {
  const error = storeProblem(thrown);
  if (error instanceof Problem && error.status < 500) return problemReply(error);
  runtime.observe({ kind: "request_failed", method, path: target.path, error });
  if (error instanceof Problem) return problemReply(error);
  return problemReply(new Problem("internal-error", "The service failed at this request"));
}

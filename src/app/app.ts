import type { Hono } from "@hono/hono";
import { needsPolicies } from "../auth/act_as.ts";
import { createCredentials } from "../auth/authenticator.ts";
import { createUserParser } from "../auth/authorize.ts";
import { type AppObservability, openObservability } from "./app_observability.ts";
import type { AppConfig, OpenConfig } from "./config.ts";
import { openDrizzleOfConfig } from "../engines/drizzle/open_configured_database.ts";
import { openStoreByUrl } from "../engines/open_driver.ts";
import { resolveConfig, type ResolvedConfig } from "./resolve_config.ts";
import type { TableOfDriver } from "../db/tables/check_tables.ts";
import type { Driver } from "../db/driver.ts";
import { createGuard, type Guard } from "../guard/guard.ts";
import {
  createIdempotentHandlers,
  type IdempotentAnswers,
} from "../resource/routes/request_handler.ts";
import { createRouteTable } from "../resource/routes/route_table.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { JsonSchema } from "../protocol/route_description.ts";
import type { ServiceSchema } from "../openapi/service_schema.ts";
import { type ResourceSummary, summarizeResource } from "../resource/routes/resource_summary.ts";
import type { ApiOfApp } from "./infer_api.ts";
import { type CallsFromCode, createCallsFromCode } from "../resource/code/calls_from_code.ts";
import type { AnyApi } from "../resource/model/code_api.ts";
import type { ImportsFromCode } from "../resource/code/import_as_system.ts";
import {
  requireTableInfo,
  type ResourceDefinition,
} from "../resource/define/resource_definition.ts";
import { LiveHubs } from "../resource/live/live_hubs.ts";
import { resolveChangeRecordings } from "../resource/define/resolve_change_recordings.ts";
import { readDefinition } from "../resource/define/check_resource_definition.ts";
import { widenReferences } from "../resource/define/resolve_relations.ts";
import { type AppStore, openKeyValueStore } from "../kv/open_key_value_store.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { claimWorker, type WorkerLock } from "../runtime/worker_lock.ts";
import { observedRuntime } from "../runtime/observed_runtime.ts";
import { AppOutbox } from "../search/outbox/app_outbox.ts";
import type { SearchOutbox } from "../search/outbox/search_outbox.ts";
import { type ReindexOptions, SearchIndexes } from "../search/search_indexes.ts";
import { authRoutersOf } from "../service/authentication.ts";
import type { AppEnv } from "../service/middleware.ts";
import {
  addMcpRoute,
  createAppPages,
  openapiSource,
  openPage,
  schemaMethods,
} from "./app_pages.ts";
import { createAppRoutes, openAuthenticators } from "./app_routes.ts";
import { type ActAsRoleRights, type ParsedConfig, resolveResources } from "./resolve_resources.ts";
import { readTables } from "./read_tables.ts";
import { emptyTableFacts, RoleRights } from "../db/tables/table_facts.ts";
import { tryScopes } from "./try_scopes.ts";

/** An app without HTTP listener. `Api` has the resources' types, inferred from the options. */
export interface App<Api = AnyApi> extends CallsFromCode<Api>, ImportsFromCode {
  /** Returns the response to one request. Never rejects. `info` describes the connection. */
  fetch(request: Request, info?: RequestInfo): Promise<Response>;
  /**
   * The Hono app with all routes. A program can add routes, in which `c.get("user")` is the user,
   * or mount the app in another Hono app by `parent.route("/v1", app.hono)`.
   */
  readonly hono: Hono<AppEnv>;
  /** Makes `/readyz` respond with 503, so that a load balancer sends no further requests. */
  announceStop(): void;
  /**
   * Makes `/readyz` respond with 503, and ends the live streams one after the other. `windowMs` is
   * the time in which all streams end, in milliseconds. Default: 5,000.
   */
  drain(windowMs?: number): void;
  /** Starts SQLite's reader threads early. Call it when the program listens, as `serve` does. */
  warmUp(): void;
  /** Lists the files of the option `web` again after a new build. `serve` calls it at a SIGHUP. */
  readonly hangUp?: (() => void) | undefined;
  /**
   * Runs the periodic work once: deletes old entries of the change log and idempotency records, and
   * sends queued rows to the search engine. Call it by a cron job if the host stops idle processes.
   */
  upkeep(): Promise<void>;
  /**
   * Indexes all rows for search again, and removes deleted rows from the indexes. Call it after
   * other programs wrote to the database. Rejects if the database or search engine fails.
   */
  reindex(options?: ReindexOptions): Promise<void>;
  /** Closes the databases and the key-value store. */
  close(): Promise<void>;
  /** The metrics of the app, or null if the option `observability` disables them. */
  readonly metrics: Metrics | null;
  /** The queue of rows to index for search; null without `kv`, or if no resource has a queue. */
  readonly searchOutbox: SearchOutbox | null;
  /** Summaries of the app's resources, for instance for a message when the app starts. */
  readonly resources: readonly ResourceSummary[];
  /** Returns the schema of `GET /__service/schema`, even if that route is disabled. */
  schema(): ServiceSchema;
  /** Returns the OpenAPI document of all mounted routes, even if the service does not serve it. */
  openapi(): JsonSchema;
}

/** Properties of a request's connection, as the handler of `Deno.serve` receives them. */
export interface RequestInfo {
  /** The address of the client, or of the last proxy between the client and the service. */
  readonly remoteAddr?: { readonly transport?: string; readonly hostname?: string } | undefined;
  /**
   * Resolves or rejects when the response was sent or can no longer be sent. If absent, only the
   * request's abort signal shows that the client of a live stream has disconnected.
   */
  readonly completed?: Promise<unknown> | undefined;
}

/**
 * Creates the app of a service from its configuration.
 *
 * @throws {Error} If an option is invalid. The message names the option.
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
 * const response = await app.fetch(new Request("http://localhost/api/notes"));
 * console.log(await response.json()); // { items: [], nextCursor: null, hasMore: false }
 * await app.close();
 * ```
 */
export async function createApp<const Definition extends ResourceDefinition>(
  given: AppConfig & { readonly resources: readonly Definition[] },
): Promise<App<ApiOfApp<Definition>>> {
  const runtime = observedRuntime(given);
  const resolved = resolveConfig(given, runtime);
  const worker = await requireSoleWorker(resolved, runtime);
  let config: OpenConfig | null = null;
  try {
    config = await openDrizzleOfConfig(given, runtime);
    const app = await open(config, resolved, runtime);
    return { ...app, close: () => app.close().finally(() => worker?.release()) };
  } catch (error) {
    worker?.release();
    // The app does not close a database that the caller has opened.
    if (config !== null && config.db !== given.db) await config.db.close();
    throw error;
  }
}

async function open(config: OpenConfig, resolved: ResolvedConfig, runtime: Runtime): Promise<App> {
  const observability = await openObservability(resolved, runtime);
  const { runtime: observed, watchedStore } = observability;
  let store: AppStore | null = null;
  try {
    store = await openKeyValueStore(config.kv, observed, openStoreByUrl, watchedStore);
    return await assemble(config, { resolved, runtime: observed, store, observability });
  } catch (error) {
    observability.close();
    // A store that the caller opened stays open. The databases of the caller stay open, too.
    if (typeof config.kv === "string") await store?.close();
    throw error;
  }
}

/** Throws if several workers have no secret, because each worker would create a different one. */
async function requireSoleWorker(
  { missingSecrets }: ResolvedConfig,
  { clock, observe }: Runtime,
): Promise<WorkerLock | null> {
  if (missingSecrets.length === 0) return null;
  const worker = await claimWorker(clock);
  if (worker.isAlone) return worker;
  worker.release();
  const error = new Error(
    "Cannot start several workers of one process without a secret: each would have a random one, " +
      `and refuse what the others have sealed (set ${missingSecrets.join(" and ")})`,
  );
  // `deno serve` does not print the error of a failed worker, so an observation reports it.
  observe({ kind: "worker_refused", error });
  throw error;
}

interface AppContext {
  readonly resolved: ResolvedConfig;
  readonly runtime: Runtime;
  readonly store: AppStore;
  readonly observability: AppObservability;
}

async function assemble(given: OpenConfig, context: AppContext): Promise<App> {
  const { resolved, runtime, store, observability } = context;
  const { config, acting } = await readConfig(given, context);
  const recordings = await resolveChangeRecordings(config, resolved.changes, runtime.random);
  const parseUser = createUserParser(runtime.observe);
  const ofTools = new WeakSet<Request>();
  const guard = createGuard({ abuse: resolved.abuse, store, runtime, ofTools });
  const authenticators = await openAuthenticators(config, { resolved, guard, store, runtime });
  const credentials = createCredentials(authenticators, parseUser);
  const { recheckMs, subscribe: limits, reads: { queryTimeoutMs } } = resolved;
  const streaming = { recheckMs, limits, queryTimeoutMs };
  const hubs = new LiveHubs({ credentials, recordings, ...streaming, runtime });
  const queue = store.configured && new AppOutbox(store.configured, resolved.searchOutbox, runtime);
  const searchIndexes = new SearchIndexes(resolved.search, queue, runtime);
  const known = emptyTableFacts();
  const roleRights = new RoleRights(tablesOf(config), runtime);
  const shared = { resolved, guard, hubs, searchIndexes, recordings, roleRights, acting, runtime };
  const { resources, apiOf, imports } = resolveResources(config, { ...shared, facts: known });
  await readTables(resources, known, shared);
  await tryScopes(resources, resolved.samples, runtime.observe);
  const table = createRouteTable(resources);
  const routers = [...authenticators, { routes: config.auth?.routes }];
  const authRoutes = authRoutersOf(routers, resolved, table);
  await hubs.open(resources);
  await searchIndexes.start();
  const databases = databasesOfApp(config);
  const outbox = searchIndexes.outbox?.outbox ?? null;
  observability.measure({ hubs, databases, outbox, clock: runtime.clock });
  const idempotency = idempotentAnswers(context, guard);
  await idempotency?.prepare(new Set(resources.map(({ driver }) => driver)));
  for (const database of databases) database.observeBy?.(runtime.observe);
  let draining = false;
  const hono = (): Hono<AppEnv> => routes.hono;
  const facts = openapiSource({ config, resolved, resources, authenticators, hono });
  const isDraining = () => draining;
  const pages = createAppPages({ table, databases, facts, isDraining, searchIndexes, ...context });
  const web = await openPage(resolved, runtime);
  const served = { parseUser, web, resolved, runtime, requestLog: observability.requestLog };
  const parts = { table, guard, idempotency, hubs, ...served };
  const { routes, bodies } = createAppRoutes({
    ...{ ...parts, pages, authRoutes, middleware: config.auth?.middleware },
    identify: authenticators.length === 0 ? null : credentials.identify,
  });
  if (resolved.dashboard !== null) {
    const { serveDashboard } = await import("./app_routes.ts");
    const own = { authenticators, databases, hono: routes.hono, metrics: observability.metrics };
    serveDashboard({ ...parts, ...own, resources, outbox, credentials }, resolved.dashboard);
  }
  await addMcpRoute({ facts, resolved, runtime, parseUser, ofTools, bodies, ...routes });
  return {
    ...routes,
    fetch: observability.observed(routes, table),
    ...{ ...createCallsFromCode(apiOf), ...imports },
    announceStop: () => void (draining = true),
    drain(windowMs = drainWindowMs) {
      draining = true;
      void hubs.drain(windowMs);
    },
    warmUp() {
      for (const { threads } of databases) void threads?.start();
    },
    reindex: (options) => searchIndexes.reindex(options),
    async upkeep() {
      await Promise.all([hubs.purge(), idempotency?.purge(), searchIndexes.outbox?.tick()]);
    },
    async close() {
      observability.close();
      await closeAll([hubs, searchIndexes, guard, ...authenticators]);
      await closeAll([...databases, store]);
    },
    resources: resources.map(summarizeResource),
    ...{ metrics: observability.metrics, searchOutbox: outbox, hangUp: web?.list },
    ...schemaMethods(facts, resolved.mountedAt),
  };
}

async function readConfig(
  given: OpenConfig,
  { resolved: { actAs }, runtime, observability }: AppContext,
): Promise<{ readonly config: ParsedConfig; readonly acting: ActAsRoleRights | null }> {
  const resources = widenReferences(given.resources.map(readDefinition), given.db.driver);
  const config = await observability.watching({ ...given, resources });
  if (actAs === null) {
    const open = resources.find(({ options }) => needsPolicies(options.auth));
    if (open === undefined) return { config, acting: null };
    const { label } = requireTableInfo(open.table);
    throw new Error(`Cannot serve "${label}": auth is byDatabase(), which needs the option actAs`);
  }
  const { openActAs } = await import("./open_act_as.ts");
  return await openActAs(config, actAs, runtime.observe);
}

async function closeAll(parts: readonly { close?(): unknown }[]): Promise<void> {
  await Promise.all(parts.map((part) => part.close?.()));
}

const drainWindowMs = 5_000;

function tablesOf({ db, resources }: OpenConfig): readonly TableOfDriver[] {
  return resources.map(({ table, options }) => (
    { table: requireTableInfo(table), driver: (options.db ?? db).driver }
  ));
}

export function databasesOfApp({ db, resources }: OpenConfig): ReadonlySet<Driver> {
  return new Set([db.driver, ...resources.map(({ options }) => (options.db ?? db).driver)]);
}

function idempotentAnswers(
  { resolved, runtime, store }: AppContext,
  guard: Guard,
): IdempotentAnswers | null {
  const { idempotency: options } = resolved;
  if (options === null) return null;
  const shares = guard.answerShares(options.ttlMs);
  return createIdempotentHandlers({ options, store, shares, runtime });
}

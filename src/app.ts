import { createUserReader } from "./auth/user.ts";
import { type AppConfig, settleConfig, type SettledConfig } from "./config.ts";
import { checkTables } from "./db/check_tables.ts";
import { settleChanges } from "./db/changes_options.ts";
import type { Driver } from "./db/driver.ts";
import { recordedWrites } from "./db/recorded_writes.ts";
import { createFilterParser } from "./filter/parse_filter.ts";
import { Problem } from "./problem/problem.ts";
import { problemReply } from "./problem/problem_reply.ts";
import type { Reply } from "./protocol/reply.ts";
import type { ResourceDefinition } from "./resource/definition.ts";
import { checkOptions } from "./resource/check_options.ts";
import { mountResources, type ResourceTable, type Target } from "./resource/mount.ts";
import { describeResource, type ResourceSummary } from "./resource/describe.ts";
import { canBeFollowed, LiveHubs, type RecordedDriver } from "./resource/live_hubs.ts";
import type { Resource } from "./resource/resource.ts";
import { settleRelations } from "./resource/settle_relations.ts";
import { settleResource } from "./resource/settle_resource.ts";
import { tableOf } from "./resource/table_of.ts";
import { createSealer } from "./runtime/sealer.ts";
import type { Runtime } from "./runtime/runtime.ts";
import { consoleObserver } from "./runtime/console_observer.ts";
import { systemRuntime } from "./runtime/system_runtime.ts";
import type { TableInfo } from "./schema/table_info.ts";
import { createResponder, type Responder } from "./service/respond.ts";
import { type ServiceRoutes, serviceRoutes } from "./service/service_routes.ts";
import { readTarget } from "./service/target.ts";
import { type Answer, throughMiddleware } from "./service/through_middleware.ts";

/** An assembled service without a listener. */
export interface App {
  /** Answers one request; never rejects. `info` says where it came from. */
  fetch(request: Request, info?: RequestInfo): Promise<Response>;
  /** From now on `/readyz` answers 503, and live streams end one after the other. */
  drain(): void;
  /** Closes the databases. */
  close(): Promise<void>;
  /** What is served, for banners and descriptions. */
  readonly resources: readonly ResourceSummary[];
}

/** What a listener knows of a connection; `Deno.ServeHandlerInfo` is one. */
export interface RequestInfo {
  /** The address of the socket at the other end. */
  readonly remoteAddr?: { readonly transport?: string; readonly hostname?: string } | undefined;
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
  const settled = settleConfig(config, runtime);
  config.resources.forEach(checkOptions);
  const recorded = await recordedDrivers(config, settled, runtime);
  const hubs = new LiveHubs({ recorded, limits: settled.subscribe, runtime });
  const resources = settleResources(config, { settled, hubs, recorded, runtime });
  await checkTables(resources, runtime.observe);
  await hubs.open(resources);
  const databases = driversOf(config);
  let draining = false;
  const service = serviceRoutes({
    health: settled.health,
    databases: [...databases],
    clock: runtime.clock,
    isDraining: () => draining,
  });
  const table = mountResources(resources, settled, runtime.clock);
  const responder = createResponder(settled.securityHeaders, runtime.observe);
  const answer = answering(table, service, responder, runtime);
  return {
    fetch: throughMiddleware({
      before: settled.middleware,
      routes: config.auth?.routes,
      routesPath: `${settled.basePath}/auth`,
      answer,
      readUser: createUserReader(runtime.observe),
      fail: (error, request) => {
        const reply = failure(error, request.method, readTarget(request.url), runtime);
        return responder.respond(reply, request.method);
      },
      adopt: responder.adopt,
    }),
    drain() {
      draining = true;
      void hubs.drain(drainWindowMs);
    },
    async close() {
      await hubs.close();
      await Promise.all([...databases].map((driver) => driver.close()));
    },
    resources: resources.map(describeResource),
  };
}

/** Well within the time that a listener gives to requests in flight. */
const drainWindowMs = 5_000;

function driversOf({ db, resources }: AppConfig): ReadonlySet<Driver> {
  return new Set([db.driver, ...resources.map(({ options }) => (options.db ?? db).driver)]);
}

/**
 * How each database is written to, and recorded. Tables of somebody else get no triggers unless the
 * configuration says so; there the service's own writes record themselves.
 */
async function recordedDrivers(
  config: AppConfig,
  settled: SettledConfig,
  { random }: Runtime,
): Promise<ReadonlyMap<Driver, RecordedDriver>> {
  const recorded = new Map<Driver, RecordedDriver>();
  const driverOf = ({ options }: ResourceDefinition) => (options.db ?? config.db).driver;
  for (const [driver, served] of Map.groupBy(config.resources, driverOf)) {
    if (!served.some(canBeFollowed)) continue;
    const tables = served.map(({ table }) => tableOf(table));
    const mode = tables.every(({ own }) => own) ? "triggers" : "service";
    const changes = settleChanges({ ...settled.changes, mode: settled.changes.mode ?? mode });
    const writeBy = changes.mode === "triggers"
      ? driver
      : await recordedWrites({ driver, tables, changes, random });
    recorded.set(driver, { driver: writeBy, changes });
  }
  return recorded;
}

/** What resources are settled with, beside the configuration. */
interface AppParts {
  readonly settled: SettledConfig;
  readonly hubs: LiveHubs;
  readonly recorded: ReadonlyMap<Driver, RecordedDriver>;
  readonly runtime: Runtime;
}

function settleResources(
  config: AppConfig,
  { settled, hubs, recorded, runtime }: AppParts,
): readonly Resource[] {
  const byTable = new Map<TableInfo, Resource>();
  const context = {
    basePath: settled.basePath,
    driver: config.db.driver,
    writeBy: (driver: Driver) => recorded.get(driver)?.driver ?? driver,
    filters: createFilterParser(),
    sealer: createSealer(settled.secrets, runtime.random),
    relations: settleRelations(config.resources),
    resourceOf: (table: TableInfo) => byTable.get(table),
    hubOf: (driver: Driver) => hubs.of(driver),
    secret: settled.secrets[0] ?? "",
    runtime,
  };
  const resources = config.resources.map((definition) => settleResource(definition, context));
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
): Answer {
  return async function answer(request, caller) {
    const target = readTarget(request.url);
    try {
      const reply =
        await (table.answer(request, target, caller) ?? service(request.method, target));
      return responder.respond(reply, request.method);
    } catch (error) {
      return responder.respond(failure(error, request.method, target, runtime), request.method);
    }
  };
}

function failure(error: unknown, method: string, target: Target, runtime: Runtime): Reply {
  if (error instanceof Problem && error.status < 500) return problemReply(error);
  runtime.observe({ kind: "request_failed", method, path: target.path, error });
  if (error instanceof Problem) return problemReply(error);
  return problemReply(new Problem("internal-error", "The service failed at this request"));
}

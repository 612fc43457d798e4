import { Hono } from "@hono/hono";
import { createUserReader, type User } from "./auth/user.ts";
import { type AppConfig, settleConfig, type SettledConfig } from "./config.ts";
import { checkTables } from "./db/check_tables.ts";
import { createFilterParser } from "./filter/parse_filter.ts";
import { Problem } from "./problem/problem.ts";
import { problemReply } from "./problem/problem_reply.ts";
import type { Reply } from "./protocol/reply.ts";
import { checkOptions } from "./resource/check_options.ts";
import { mountResources, type ResourceTable, type Target } from "./resource/mount.ts";
import { describeResource, type ResourceSummary } from "./resource/describe.ts";
import { type Resource, settleResource } from "./resource/resource.ts";
import { createSealer } from "./runtime/sealer.ts";
import type { Runtime } from "./runtime/runtime.ts";
import { consoleObserver } from "./runtime/console_observer.ts";
import { systemRuntime } from "./runtime/system_runtime.ts";
import { corsMiddleware } from "./service/cors.ts";
import type { Middleware } from "./service/middleware.ts";
import { createResponder, type Responder } from "./service/respond.ts";
import { type ServiceRoutes, serviceRoutes } from "./service/service_routes.ts";
import { readTarget } from "./service/target.ts";

/** An assembled service without a listener. */
export interface App {
  /** Answers one request; never rejects. `info` says where it came from. */
  fetch(request: Request, info?: RequestInfo): Promise<Response>;
  /** From now on `/readyz` answers 503. */
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
  const resources = settleResources(config, settled, runtime);
  await checkTables(resources, runtime.observe);
  const databases = new Set([config.db.driver, ...resources.map((resource) => resource.driver)]);
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
    fetch: throughMiddleware(config, settled, answer, responder, runtime),
    drain() {
      draining = true;
    },
    async close() {
      await Promise.all([...databases].map((driver) => driver.close()));
    },
    resources: resources.map(describeResource),
  };
}

/** Answers a request that has passed the middleware; never rejects. */
type Answer = (request: Request, user: () => User | null) => Promise<Response>;

function settleResources(
  config: AppConfig,
  settled: SettledConfig,
  runtime: Runtime,
): readonly Resource[] {
  config.resources.forEach(checkOptions);
  const context = {
    basePath: settled.basePath,
    driver: config.db.driver,
    filters: createFilterParser(),
    sealer: createSealer(settled.secrets, runtime.random),
    observe: runtime.observe,
  };
  return config.resources.map((definition) => settleResource(definition, context));
}

function answering(
  table: ResourceTable,
  service: ServiceRoutes,
  responder: Responder,
  runtime: Runtime,
): Answer {
  return async function answer(request, user) {
    const target = readTarget(request.url);
    try {
      const reply = await (table.answer(request, target, user) ?? service(request.method, target));
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

function throughMiddleware(
  config: AppConfig,
  settled: SettledConfig,
  answer: Answer,
  responder: Responder,
  runtime: Runtime,
): App["fetch"] {
  const hono = new Hono<{ Variables: { user: unknown } }>();
  const before: Middleware[] = [...settled.middleware];
  if (config.cors !== undefined && config.cors !== false) {
    before.unshift(corsMiddleware(config.cors));
  }
  for (const middleware of before) {
    // Our context type names the part of Hono's that is promised; what runs is Hono's own.
    hono.use("*", middleware as unknown as Parameters<typeof hono.use>[1]);
  }
  const routes = config.auth?.routes;
  if (routes !== undefined) {
    hono.mount(`${settled.basePath}/auth`, (request: Request) => routes.fetch(request));
  }
  const readUser = createUserReader(runtime.observe);
  hono.all("*", (context) => answer(context.req.raw, () => readUser(context.get("user"))));
  hono.onError((error, context) => {
    const target = readTarget(context.req.raw.url);
    return responder.respond(
      failure(error, context.req.method, target, runtime),
      context.req.method,
    );
  });
  // Only what others have made or touched can hold a header that we did not check.
  const foreign = before.length > 0 || routes !== undefined;
  return async function fetch(request, info) {
    const response = await hono.fetch(request, info ?? {});
    return foreign ? responder.adopt(response) : response;
  };
}

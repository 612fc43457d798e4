import type { Authenticator, Credentials, Router } from "../auth/authenticator.ts";
import type { User } from "../auth/authorize.ts";
import type { Guard } from "../guard/guard.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import {
  countRejectedRequest,
  createRequestHandler,
  haveRateLimit,
  type IdempotentAnswers,
} from "../resource/routes/request_handler.ts";
import { RequestScheduler } from "../resource/http/request_scheduler.ts";
import { LargeBodyLimiter } from "../resource/http/large_bodies.ts";
import { ReceivingBodyLimiter } from "../resource/http/request_body.ts";
import { createRouteTable, type RouteTable } from "../resource/routes/route_table.ts";
import type { ResourceRoute } from "../resource/routes/endpoint.ts";
import type { LiveHubs } from "../resource/live/live_hubs.ts";
import { createSealer } from "../runtime/sealer.ts";
import type { Clock, Runtime } from "../runtime/runtime.ts";
import { createAuthentication, createIdentifyMiddleware } from "../service/authentication.ts";
import { dashboardPath } from "../service/dashboard/dashboard_path.ts";
import { createHonoApp } from "../service/hono_app.ts";
import type { AppEnv, Middleware } from "../service/middleware.ts";
import { createErrorResponder, createResponder } from "../service/responder.ts";
import { createProblemPages, type ServicePage } from "../service/service_pages.ts";
import { mountLive } from "../service/live/mount_live.ts";
import type { WebPage } from "../service/web/web_page.ts";
import type { Hono } from "@hono/hono";
import type { Metrics } from "../metrics/metrics.ts";
import { createDashboardReports, type DashboardReportsDependencies } from "./dashboard_reports.ts";
import type { ResolvedDashboard } from "../service/dashboard/dashboard_options.ts";
import { createAuditReport, OperatorAudit } from "../service/dashboard/operator_audit.ts";
import { operatorResources } from "../service/dashboard/operator_resources.ts";
import { type InnerApp, mountDashboard } from "../service/dashboard/mount_dashboard.ts";
import { createRightsAction } from "../service/dashboard/reports/rights_report.ts";
import {
  createViewAsAction,
  readViewToken,
  type ViewToken,
} from "../service/dashboard/view_token.ts";
import type { Report } from "../service/dashboard/report.ts";
import type { RequestLog } from "../service/request_log/request_log.ts";
import type { OpenConfig } from "./config.ts";
import type { AuthenticatorDependencies } from "../identity/authenticator_dependencies.ts";
import type { AppStore } from "../kv/open_key_value_store.ts";

interface AppRoutesDependencies {
  readonly table: RouteTable;
  readonly pages: readonly ServicePage[];
  readonly guard: Guard;
  readonly idempotency: IdempotentAnswers | null;
  readonly hubs: LiveHubs;
  readonly identify: Credentials["identify"] | null;
  readonly middleware: Middleware | undefined;
  readonly authRoutes: readonly Router[];
  readonly parseUser: (value: unknown) => User | null;
  readonly requestLog: RequestLog | null;
  readonly web: WebPage | null;
  readonly resolved: ResolvedConfig;
  readonly runtime: Runtime;
}

export function createAppRoutes(parts: AppRoutesDependencies) {
  const { table, pages, guard, idempotency, identify, authRoutes, resolved, runtime } = parts;
  const recorder = parts.requestLog?.recorder ?? null;
  const { observe, clock } = runtime;
  const authenticate = createIdentifyMiddleware(identify, parts.middleware);
  const { trustProxy: trustedProxies } = resolved.abuse;
  const turns = new RequestScheduler(clock);
  const limits = { ...resolved, receiving: new ReceivingBodyLimiter(clock) };
  const slowRoutes = new WeakSet<ResourceRoute>();
  const largeBodies = new LargeBodyLimiter(clock);
  const queues = { turns, largeBodies, slowRoutes };
  const answering = { ...queues, limits, guard, idempotency, trustedProxies, clock };
  const handle = createRequestHandler(answering);
  const responder = createResponder(resolved.securityHeaders, observe);
  const fail = createErrorResponder(responder, runtime);
  const app = createHonoApp({
    table,
    pages,
    answer: recorder?.noting(handle) ?? handle,
    cors: resolved.cors,
    authenticate: authenticate === null
      ? null
      : (count) =>
        createAuthentication(authenticate, observe, haveRateLimit(table.routes) ? count : null),
    identify,
    authenticatesByContext: parts.middleware !== undefined,
    countRefused: (route, received) => countRejectedRequest(route, received, answering),
    middleware: resolved.middleware,
    authRoutes,
    authPath: `${resolved.basePath}/auth`,
    tolerantPaths: resolved.dashboard === null ? [] : [`${dashboardPath}/*`],
    mountedAt: resolved.mountedAt,
    web: parts.web,
    parseUser: parts.parseUser,
    responder,
    fail: recorder?.notingProblems(fail) ?? fail,
    limits,
    clock,
    links: { sealer: createSealer(resolved.secrets, runtime.random), clock },
  });
  const bodies = { limits, queues, trustedProxies, clock };
  if (table.routes.some(({ resource }) => resource.isSubscribable)) {
    const { fetch, prefixOf } = app;
    mountLive(app.hono, {
      ...{ ...parts, ...bodies, responder, fetch, prefixOf },
      takeStream: (...stream) => parts.hubs.takeStream(...stream),
      mountedAt: resolved.mountedAt,
    });
  }
  return { routes: { hono: app.hono, fetch: app.fetch }, bodies };
}

interface DashboardDependencies extends
  Pick<
    AppRoutesDependencies,
    "guard" | "idempotency" | "hubs" | "parseUser" | "resolved" | "runtime"
  >,
  Omit<DashboardReportsDependencies, "sessionPath"> {
  readonly credentials: Pick<Credentials, "accept" | "of">;
  readonly metrics: Metrics | null;
  readonly hono: Hono<AppEnv>;
}

export function serveDashboard(served: DashboardDependencies, dashboard: ResolvedDashboard): void {
  const hasSessions = served.authenticators.some(({ name }) => name === "passwordAuth");
  const sessionPath = hasSessions ? `${served.resolved.basePath}/auth` : null;
  const { resolved, runtime, resources, metrics, credentials, parseUser, hono } = served;
  const { basePath, secrets } = resolved;
  const { clock, observe } = runtime;
  const views = { sealer: createSealer(secrets, runtime.random), clock, parseUser };
  const audit = new OperatorAudit(clock, observe);
  const users = new WeakMap<Request, User | null>();
  const own = operatorResources(resources, { basePath, isReadOnly: dashboard.readOnly });
  // An operator can view the service as a user, without using up the user's limits.
  const unlimited = resources.map((one) => ({ ...one, protections: new Map() }));
  // The base path may be empty, because responses to reads contain it only in a problem's `type`.
  const viewed = innerApp(served, createRouteTable(unlimited), "", users);
  mountDashboard(hono, {
    options: dashboard,
    login: sessionPath && `${sessionPath}/login`,
    operatorUser: createOperatorUsers(credentials),
    reports: [
      createViewAsAction(views),
      createAuditReport(audit),
      createRightsAction({ resources, basePath, parseUser }),
      ...(metrics === null ? [] : [createMetricsReport(metrics, clock)]),
      ...createDashboardReports({ ...served, sessionPath }),
    ],
    operator: innerApp(served, createRouteTable(own), dashboardPath, users),
    viewed: {
      async fetch(request, operator, info) {
        const view = readViewToken(request, views);
        return await viewed.fetch(request, viewedUser(view, operator, credentials), info);
      },
    },
    parseUser,
    audit,
    responder: createResponder(resolved.securityHeaders, observe),
    limits: { ...resolved, receiving: new ReceivingBodyLimiter(clock) },
    clock,
  });
}

/** A viewed user's access ends when the token or the credential of the operator expires. */
function viewedUser(
  { user, expiresAt }: ViewToken,
  operator: User | null,
  credentials: Pick<Credentials, "accept" | "of">,
): User | null {
  if (user === null) return null;
  const session = operator && credentials.of(operator);
  const made: User | null = credentials.accept({
    user,
    expiresAt: Math.min(expiresAt, session?.expiresAt ?? Infinity),
    renew: async () => await session?.renew?.() === null ? null : made,
  });
  return made;
}

function createOperatorUsers(credentials: Pick<Credentials, "accept" | "of">) {
  // Streams are grouped by the user object. Therefore each credential always gets the same object.
  const users = new WeakMap<User, User>();
  return function operatorUser(user: User, isOperator: (user: User) => boolean): User {
    const known = users.get(user);
    const credential = credentials.of(user);
    if (known !== undefined || credential === null) return known ?? user;
    const made: User | null = credentials.accept({
      user: { ...user },
      expiresAt: credential.expiresAt,
      async renew() {
        const renewed = credential.renew === undefined ? user : await credential.renew();
        return renewed !== null && isOperator(renewed) ? made : null;
      },
    });
    if (made !== null) users.set(user, made);
    return made ?? user;
  };
}

function innerApp(
  served: DashboardDependencies,
  table: RouteTable,
  path: string,
  users: WeakMap<Request, User | null>,
): InnerApp {
  const { resolved } = served;
  const { routes: { fetch } } = createAppRoutes({
    ...served,
    table,
    // Problems of this inner app link to pages below `path`, so the inner app serves these pages.
    pages: createProblemPages(),
    identify: (request) => users.get(request) ?? null,
    middleware: undefined,
    authRoutes: [],
    ...{ requestLog: null, web: null },
    resolved: {
      ...resolved,
      cors: null,
      middleware: [],
      mountedAt: resolved.mountedAt + path,
      dashboard: null,
    },
  });
  return {
    fetch(request, user, info) {
      users.set(request, user);
      return fetch(request, info);
    },
  };
}

function createMetricsReport(metrics: Metrics, clock: Clock): Report {
  return {
    name: "metrics",
    method: "GET",
    answer: async () => ({ at: clock.now(), families: await metrics.snapshot() }),
  };
}

export async function openAuthenticators(
  { auth, db }: Pick<OpenConfig, "auth" | "db">,
  { resolved, guard, store, runtime }:
    & Pick<AppRoutesDependencies, "resolved" | "guard" | "runtime">
    & { readonly store: AppStore },
): Promise<readonly Authenticator[]> {
  const { recheckMs, trustedOrigins, isProduction, abuse } = resolved;
  const parts: AuthenticatorDependencies = {
    ...{ runtime, store, guard, db, trustedOrigins, recheckMs, isProduction },
    trustedProxies: abuse.trustProxy,
    path: `${resolved.mountedAt}${resolved.basePath}/auth`,
    basePath: resolved.basePath,
  };
  const opened: Authenticator[] = [];
  for (const given of auth?.use ?? []) {
    // Only this package creates definitions, so their `open` accepts these dependencies. The
    // parameter of `open` has the type `never`, so that the types of dependencies stay internal.
    opened.push("open" in given ? await given.open(parts as never) : given);
  }
  return opened;
}

import type { Hono } from "@hono/hono";
import type { Credentials } from "../auth/credentials.ts";
import type { User } from "../auth/user.ts";
import { type AppRoutesDependencies, createAppRoutes } from "./app_routes.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { createDashboardReports, type DashboardReportsDependencies } from "./dashboard_reports.ts";
import { createRouteTable, type RouteTable } from "../resource/routes/route_table.ts";
import { ReceivingBodyLimiter } from "../resource/http/receiving_bodies.ts";
import { createSealer } from "../runtime/sealer.ts";
import type { ResolvedDashboard } from "../service/dashboard/dashboard_options.ts";
import { createAuditReport, OperatorAudit } from "../service/dashboard/operator_audit.ts";
import { operatorResources } from "../service/dashboard/operator_resources.ts";
import { dashboardPath } from "../service/dashboard/dashboard_path.ts";
import { type InnerApp, mountDashboard } from "../service/dashboard/mount_dashboard.ts";
import { createRightsAction } from "../service/dashboard/reports/rights_action.ts";
import { createViewAsAction, readViewToken } from "../service/dashboard/view_token.ts";
import type { AppEnv } from "../service/middleware.ts";
import { createProblemPages } from "../service/service_pages.ts";
import { createResponder } from "../service/responder.ts";
import type { Clock } from "../runtime/runtime.ts";
import type { Report } from "../service/dashboard/report.ts";

export interface DashboardDependencies extends
  Pick<
    AppRoutesDependencies,
    "guard" | "idempotency" | "hubs" | "parseUser" | "resolved" | "runtime"
  >,
  DashboardReportsDependencies {
  readonly credentials: Pick<Credentials, "accept">;
  readonly metrics: Metrics | null;
  readonly hono: Hono<AppEnv>;
}

/** Adds the routes of the dashboard to an app. */
export function serveDashboard(served: DashboardDependencies, dashboard: ResolvedDashboard): void {
  const { resolved, runtime, resources, metrics, credentials, parseUser, hono } = served;
  const { basePath, secrets } = resolved;
  const { clock, observe } = runtime;
  const views = { sealer: createSealer(secrets, runtime.random), clock, parseUser };
  const audit = new OperatorAudit(clock, observe);
  const users = new WeakMap<Request, User | null>();
  const own = operatorResources(resources, { basePath, isReadOnly: dashboard.readOnly });
  // An operator can view the service as a user. This does not count against the user's limits.
  const unlimited = resources.map((one) => ({ ...one, protections: new Map() }));
  // Views as a user are read-only, and responses to reads contain the mount path only in problems.
  const viewed = innerApp(served, createRouteTable(unlimited), "", users);
  mountDashboard(hono, {
    options: dashboard,
    reports: [
      createViewAsAction(views),
      createAuditReport(audit),
      createRightsAction({ resources, basePath, parseUser }),
      ...(metrics === null ? [] : [createMetricsReport(metrics, clock)]),
      ...createDashboardReports(served),
    ],
    operator: innerApp(served, createRouteTable(own), dashboardPath, users),
    viewed: {
      async fetch(request, _operator, info) {
        const { user, expiresAt } = readViewToken(request, views);
        const caller = user === null ? null : credentials.accept({ user, expiresAt });
        return await viewed.fetch(request, caller, info);
      },
    },
    parseUser,
    audit,
    responder: createResponder(resolved.securityHeaders, observe),
    limits: { ...resolved, receiving: new ReceivingBodyLimiter(clock) },
    clock,
  });
}

/** Returns an app that serves resources to the user that the dashboard has set for a request. */
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
    // The problems of this app have their own pages, below the app's own path.
    pages: createProblemPages(),
    identify: (request) => users.get(request) ?? null,
    middleware: undefined,
    authRoutes: [],
    problems: null,
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

/** Creates the report of the current metrics. Its `at` is in milliseconds since 1970. */
function createMetricsReport(metrics: Metrics, clock: Clock): Report {
  return {
    name: "metrics",
    method: "GET",
    answer: async () => ({ at: clock.now(), families: await metrics.snapshot() }),
  };
}

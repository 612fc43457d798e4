import type { Context, Hono } from "@hono/hono";
import type { User } from "../../auth/authorize.ts";
import { Problem } from "../../problem/problem.ts";
import { problemTypeBase } from "../../protocol/problem_codes.ts";
import { jsonContentType, type Reply } from "../../protocol/reply.ts";
import { type BodyLimits, parseBody, readBody } from "../../resource/http/request_body.ts";
import { cacheControl } from "../../resource/http/json_reply.ts";
import { parseRequestTarget } from "../../resource/http/request_target.ts";
import { methodProblem } from "../../resource/routes/route_table.ts";
import { writeJson } from "../../schema/exact_json.ts";
import { safeOutput } from "../../schema/safe_numbers.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { HonoCaller } from "../request_context.ts";
import type { AppEnv } from "../middleware.ts";
import type { Responder } from "../responder.ts";
import { dashboardFile } from "./dashboard_files.ts";
import { dashboardPath } from "./dashboard_path.ts";
import type { ResolvedDashboard } from "./dashboard_options.ts";
import type { OperatorAudit } from "./operator_audit.ts";
import type { DashboardOperator, Report } from "./report.ts";
import { isFromOwnPage } from "../../protocol/own_page.ts";
import { requirePageAccess } from "../own_machine.ts";
import type { PageRequest } from "../service_pages.ts";

export interface MountDashboardOptions {
  readonly options: ResolvedDashboard;
  /** The path at which operators log in, such as `/api/auth/login`; null without sessions. */
  readonly login: string | null;
  /** Returns the user for operator requests. The user's streams end if `isOperator` is false. */
  readonly operatorUser: (user: User, isOperator: (user: User) => boolean) => User;
  readonly reports: readonly Report[];
  readonly operator: InnerApp;
  readonly viewed: InnerApp;
  readonly parseUser: (value: unknown) => User | null;
  readonly audit: OperatorAudit;
  readonly responder: Responder;
  readonly limits: BodyLimits;
  readonly clock: Clock;
}

export interface InnerApp {
  /** Responds to a request of an operator. The request's path is relative to the app. */
  fetch(request: Request, operator: User | null, info: unknown): Promise<Response>;
}

export function mountDashboard(hono: Hono<AppEnv>, mounted: MountDashboardOptions): void {
  const reports = new Map(mounted.reports.map((one) => [pathOf(one), one]));
  hono.all(`${dashboardPath}/*`, (context) => answer(context, { ...mounted, reports }));
}

type Mounted = Omit<MountDashboardOptions, "reports"> & { readonly reports: Map<string, Report> };

function pathOf({ name, method }: Report): string {
  return method === "GET" ? `/report/${name}` : `/action/${name}`;
}

async function answer(context: Context<AppEnv>, mounted: Mounted): Promise<Response> {
  const { options, parseUser, responder, viewed, reports } = mounted;
  const { raw } = context.req;
  const { path: whole } = parseRequestTarget(raw.url);
  const start = whole.indexOf(dashboardPath) + dashboardPath.length;
  const path = whole.slice(start);
  const caller = new HonoCaller(context, parseUser);
  const isPage = isRead(raw) && (path === "" || path === "/");
  const request = { raw, user: () => caller.user(), address: () => caller.address(), isPage };
  const file = await dashboardFile(path, raw);
  // Everyone may read the page, which contains no data and asks for the login.
  const isOpen = file !== null && options.roles !== null && isRead(raw);
  const operator = isOpen ? stranger : await requireOperator(request, mounted);
  const report = reports.get(path);
  if (report !== undefined) {
    return await answerReport(report, { context, caller, operator, mounted });
  }
  if (file !== null) {
    if (!isRead(raw)) throw methodProblem(raw.method, ["GET"]);
    return responder.respond(file, raw.method);
  }
  if (path.startsWith("/as/")) {
    if (!isRead(raw) && path !== `/as${livePath}`) throw readOnly("as another user");
    const inner = below(raw, `${whole.slice(0, start)}/as`);
    return notStored(await viewed.fetch(inner, operator.user, context.env));
  }
  const isOperators = ["/api/", problemTypeBase].some((start) => path.startsWith(start));
  if (!isOperators && path !== livePath) throw methodProblem(raw.method, []);
  const writes = !isRead(raw) && path !== livePath;
  if (writes && operator.isReadOnly) throw readOnlyDashboard(options);
  const { user } = operator;
  const inner = below(raw, whole.slice(0, start));
  const response = notStored(await mounted.operator.fetch(inner, user, context.env));
  const { method } = raw;
  if (writes) {
    mounted.audit.record({ method, path, status: response.status, user: user?.id ?? null });
  }
  return response;
}

const stranger: DashboardOperator = {
  ...{ user: null, isReadOnly: true, isViewer: true },
  isAdministrator: false,
};

const livePath = "/__service/live";

/** Forbids storing the response: after the logout, the browser's Back button would show it. */
function notStored(response: Response): Response {
  const { headers } = response;
  const stored = headers.get("cache-control") ?? "no-store";
  headers.set("cache-control", stored.replace(cacheControl, "no-store"));
  return response;
}

function isRead({ method }: Request): boolean {
  return method === "GET" || method === "HEAD";
}

function readOnly(how: string): Problem {
  return new Problem("forbidden", `Cannot write ${how}`);
}

function readOnlyDashboard({ readOnly: isForAll }: ResolvedDashboard): Problem {
  return readOnly(isForAll ? "with a read-only dashboard" : "with a role that may only read");
}

function below(request: Request, path: string): Request {
  const url = new URL(request.url);
  url.pathname = url.pathname.slice(path.length);
  const { method, headers, body } = request;
  // Deno warns if `signal` is copied. Without `signal`, the server still reports a disconnect.
  return new Request(url, { method, headers, body });
}

async function answerReport(
  report: Report,
  { context, caller, operator, mounted }: {
    readonly context: Context<AppEnv>;
    readonly caller: HonoCaller;
    readonly operator: DashboardOperator;
    readonly mounted: Mounted;
  },
): Promise<Response> {
  const { raw } = context.req;
  const isAction = report.method === "POST";
  const isAsked = isAction ? raw.method === "POST" : isRead(raw);
  if (!isAsked) throw methodProblem(raw.method, [report.method]);
  const { options, responder, audit } = mounted;
  if (report.administers && !operator.isAdministrator) {
    throw new Problem("forbidden", "Cannot manage accounts with a role that may not");
  }
  if (report.writes && operator.isReadOnly) throw readOnlyDashboard(options);
  const query = new URL(raw.url).searchParams;
  const body = isAction ? parseBody(await readBody(raw, caller, mounted), maxNames) : null;
  const { user } = operator;
  const reply = json(await report.answer({ query, body, operator }));
  if (report.writes) {
    const { method } = raw;
    const written = { method, path: pathOf(report), status: reply.status, user: user?.id ?? null };
    const target = report.target?.(body);
    audit.record(target === undefined ? written : { ...written, target });
  }
  return responder.respond(reply, raw.method);
}

const maxNames = 1_000;

function json(body: unknown): Reply {
  const headers = { "content-type": jsonContentType, "cache-control": "no-store" };
  return { status: 200, headers, body: writeJson(safeOutput(body)) };
}

export interface OperatorRequest extends PageRequest {
  /** True for the HTML page, to which other sites may link: opening it has no effect. */
  readonly isPage: boolean;
}

interface OperatorRules {
  readonly options: Pick<ResolvedDashboard, "authorize" | "roles" | "readOnly">;
  readonly login: string | null;
  readonly operatorUser: MountDashboardOptions["operatorUser"];
}

/** Throws a 401 if the caller is not an operator, and a 403 for a request from another site. */
export async function requireOperator(
  request: OperatorRequest,
  { options: { authorize, roles, readOnly }, login, operatorUser }: OperatorRules,
): Promise<DashboardOperator> {
  const { raw, isPage } = request;
  // A write with neither `Origin` nor `Sec-Fetch-Site` passes: a browser would add one of the two.
  if (!isPage && isFromOwnPage(raw, noOrigins) === false) {
    throw new Problem("forbidden", "Cannot use the dashboard from a page of another origin");
  }
  const user = request.user();
  if (roles !== null) return operatorByRole(user, { roles, readOnly, login, operatorUser });
  await requirePageAccess(request, {
    authorize,
    option: "adminUI.authorize",
    cannot: "Cannot use the dashboard",
    // With this header, a browser asks for a user name and password, and then sends them.
    headers: { "www-authenticate": 'Basic realm="dashboard", charset="UTF-8"' },
  });
  return { user, isReadOnly: readOnly, isViewer: false, isAdministrator: true };
}

function operatorByRole(
  user: User | null,
  { roles: { administer, edit, read }, readOnly, login, operatorUser }: {
    readonly roles: NonNullable<ResolvedDashboard["roles"]>;
    readonly readOnly: boolean;
    readonly login: string | null;
    readonly operatorUser: MountDashboardOptions["operatorUser"];
  },
): DashboardOperator {
  if (user === null) {
    throw new Problem("unauthorized", "Log in to use the dashboard", { details: { login } });
  }
  if (hasRole(user, [...edit, ...read])) {
    const isViewer = !hasRole(user, edit);
    const isOperator = (renewed: User) => hasRole(renewed, [...edit, ...read]);
    const isAdministrator = hasRole(user, administer);
    const isReadOnly = readOnly || isViewer;
    return { user: operatorUser(user, isOperator), isReadOnly, isViewer, isAdministrator };
  }
  const account = user.email ?? user.id;
  throw new Problem(
    "forbidden",
    `Cannot use the dashboard as ${account}: it has no role that may`,
    {
      details: { login },
    },
  );
}

function hasRole({ roles }: User, names: readonly string[]): boolean {
  // A middleware of the deployer can set anything, for example a string.
  const own: unknown = roles;
  return Array.isArray(own) && own.some((role) => names.includes(role));
}

const noOrigins: ReadonlySet<string> = new Set();

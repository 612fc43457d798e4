import type { Context, Hono, Next } from "@hono/hono";
import { METHOD_NAME_ALL } from "@hono/hono/router";
import { basePath, matchedRoutes } from "@hono/hono/route";
import type { H, RouterRoute } from "@hono/hono/types";
import { findTargetHandler } from "@hono/hono/utils/handler";
import type { Credentials } from "../auth/authenticator.ts";
import type { User } from "../auth/authorize.ts";
import { Problem } from "../problem/problem.ts";
import type { Reply } from "../protocol/reply.ts";
import { chain, type MaybePromise } from "../runtime/maybe_promise.ts";
import type { RequestHandler } from "../resource/routes/request_handler.ts";
import {
  invalidHost,
  parseRequestTarget,
  type RequestTarget,
} from "../resource/http/request_target.ts";
import type { ReceivedRequest } from "../resource/routes/routed_request.ts";
import { methodProblem, type RouteTable } from "../resource/routes/route_table.ts";
import type { ResourceRoute } from "../resource/routes/endpoint.ts";
import { type DirectCaller, HonoCaller } from "./request_context.ts";
import type { AppEnv } from "./middleware.ts";
import { addPrefixToReply, type Responder } from "./responder.ts";
import type { ServicePage } from "./service_pages.ts";
import type { WebPage } from "./web/web_page.ts";
import { routePath } from "../resource/routes/routes.ts";

export interface RouteHandlersOptions {
  readonly table: RouteTable;
  readonly pages: readonly ServicePage[];
  readonly answer: RequestHandler;
  readonly countRefused: (
    route: ResourceRoute,
    received: ReceivedRequest,
  ) => Promise<Reply["headers"]>;
  readonly responder: Responder;
  readonly parseUser: (value: unknown) => User | null;
  /** The mount path that a proxy or a parent app has removed from the requests' paths. */
  readonly mountedAt: string;
  /** The page at the paths that no route matches. Null for a service without a page. */
  readonly web: WebPage | null;
}

interface DirectRequest extends ReceivedRequest {
  readonly caller: DirectCaller;
}

/** Handles routes by the raw path, because a decoded key can look like a reserved segment. */
export class RouteHandlers {
  readonly #options: RouteHandlersOptions;
  readonly #hasPlainHost: (request: Request) => boolean;

  constructor(options: RouteHandlersOptions, hasPlainHost: (request: Request) => boolean) {
    this.#options = options;
    this.#hasPlainHost = hasPlainHost;
  }

  /** Has rest parameters, because Hono lists a handler with two parameters as a middleware. */
  named(name: string): H {
    const handler = (...[context, next]: Parameters<typeof this.elsewhere>) =>
      this.#answerByPath(context, next);
    return Object.defineProperty(handler, "name", { value: name });
  }

  readonly elsewhere = (context: Context<AppEnv>, next: Next): Promise<Response | void> =>
    this.#answerByPath(context, next);

  matched(route: ResourceRoute): H {
    return (context: Context<AppEnv>) =>
      this.#answerAt(route, context, parseRequestTarget(context.req.raw.url), "");
  }

  /** Handles a resource's request without a Hono context. No middleware may need the context. */
  direct(
    route: ResourceRoute,
    received: DirectRequest,
    identify: Credentials["identify"] | null,
  ): MaybePromise<Response> {
    if (identify === null) return this.#answerDirectly(route, received);
    let user: MaybePromise<User | null>;
    try {
      user = identify(received.request);
    } catch (error) {
      return this.#countRefused(error, route, received);
    }
    if (user instanceof Promise) {
      return user.then(
        (one) => this.#answerAs(one, route, received),
        (error) => this.#countRefused(error, route, received),
      );
    }
    return this.#answerAs(user, route, received);
  }

  prefixOf(context: Context<AppEnv>): string {
    return this.#options.mountedAt + this.#routedPrefix(context);
  }

  async countRefusal(context: Context<AppEnv>): Promise<void> {
    const { table, countRefused } = this.#options;
    const { method, raw: request } = context.req;
    const target = parseRequestTarget(request.url);
    const path = target.path.slice(this.#routedPrefix(context).length);
    const route = table.at(table.canonical(path) ?? path)?.get(method === "HEAD" ? "GET" : method);
    if (route === undefined) return;
    const caller = new HonoCaller(context, () => null);
    const headers = await countRefused(route, { request, target, caller });
    for (const [name, value] of Object.entries(headers)) context.header(name, value);
  }

  /** Counts a refused credential. Rejects with the refusal, or with a 429 above the limit. */
  async #countRefused(
    error: unknown,
    route: ResourceRoute,
    received: ReceivedRequest,
  ): Promise<never> {
    if (!(error instanceof Problem) || error.status !== 401) throw error;
    const headers = await this.#options.countRefused(route, received);
    throw error.withHeaders({ ...headers, ...error.headers });
  }

  #answerAs(
    user: User | null,
    route: ResourceRoute,
    received: DirectRequest,
  ): MaybePromise<Response> {
    received.caller.identifyAs(user);
    return this.#answerDirectly(route, received);
  }

  #answerDirectly(route: ResourceRoute, received: DirectRequest): MaybePromise<Response> {
    const { answer, mountedAt } = this.#options;
    const { request: { method }, caller: { isServedByDeno } } = received;
    return chain(
      answer(route, received),
      (reply) => this.#respond(reply, method, mountedAt, isServedByDeno),
    );
  }

  async #answerByPath(context: Context<AppEnv>, next: Next): Promise<Response | void> {
    // Hono keeps headers of a parent's middleware only if `res` exists. Reading `res` creates it.
    void context.res;
    const { table, pages, parseUser, mountedAt } = this.#options;
    const { method, raw, raw: { url } } = context.req;
    // A parent app has not checked the host, on which the matched path can depend.
    if (!this.#hasPlainHost(raw)) throw invalidHost();
    const target = parseRequestTarget(url);
    const prefix = this.#routedPrefix(context);
    const path = target.path.slice(prefix.length);
    const reads = isRead(method);
    const found = table.at(table.canonical(path) ?? path);
    const route = found?.get(reads ? "GET" : method);
    if (route !== undefined) return await this.#answerAt(route, context, target, prefix);
    // Routes after this one belong to the deployer or a parent app.
    const hasLaterRoute = context.req.routeIndex + 1 < matchedRoutes(context).length;
    for (const page of pages) {
      const answerPage = page.yields && hasLaterRoute ? null : page.at(path, mountedAt + prefix);
      if (answerPage === null) continue;
      if (!reads) throw methodProblem(method, ["GET"]);
      const caller = new HonoCaller(context, parseUser);
      const request = { raw, user: () => caller.user(), address: () => caller.address() };
      return this.#respond(await answerPage(request), method, "");
    }
    return hasLaterRoute ? await next() : await this.unmatched(context);
  }

  readonly unmatched = async (context: Context<AppEnv>): Promise<Response> => {
    const { table, web } = this.#options;
    const { method, raw } = context.req;
    const path = this.#pathOf(context);
    const allowed = table.at(table.canonical(path) ?? path)?.keys() ?? [];
    const reply = isRead(method) && web?.covers(path) ? await web.answer(raw, path) : null;
    if (reply === null) throw methodProblem(method, allowed);
    return this.#respond(reply, method, "");
  };

  isOfPage(context: Context<AppEnv>): boolean {
    const { web } = this.#options;
    if (web === null || !isRead(context.req.method) || !web.covers(this.#pathOf(context))) {
      return false;
    }
    const routes = matchedRoutes(context);
    const last = routes.at(-1);
    return last !== undefined && this.#isLast(last) &&
      routes.every(({ method, path }) =>
        method === METHOD_NAME_ALL && (path === last.path || path === "/*")
      );
  }

  #answerAt(
    route: ResourceRoute,
    context: Context<AppEnv>,
    target: RequestTarget,
    prefix: string,
  ): MaybePromise<Response> {
    const { answer, parseUser, mountedAt } = this.#options;
    const { raw } = context.req;
    const caller = new HonoCaller(context, parseUser);
    return chain(
      answer(route, { request: raw, target, caller }),
      (reply) => this.#respond(reply, raw.method, mountedAt + prefix),
    );
  }

  #respond(reply: Reply, method: string, prefix: string, isSentAsIs = false): Response {
    const mounted = prefix === "" ? reply : addPrefixToReply(reply, prefix);
    return this.#options.responder.respond(mounted, method, isSentAsIs);
  }

  readonly #isLast = ({ handler }: RouterRoute) => findTargetHandler(handler) === this.elsewhere;

  #pathOf(context: Context<AppEnv>): string {
    const { path } = parseRequestTarget(context.req.raw.url);
    return path.slice(this.#routedPrefix(context).length);
  }

  #routedPrefix(context: Context<AppEnv>): string {
    const routes = matchedRoutes(context);
    const after = routes.slice(context.req.routeIndex).findIndex(this.#isLast);
    // If an app is mounted twice, the running handler and those after it belong to this mount.
    const own = after < 0 ? routes.findLastIndex(this.#isLast) : context.req.routeIndex + after;
    if (own < 0 || routes[own]?.basePath === "/") return "";
    const matched = context.req.path;
    const { path } = parseRequestTarget(context.req.raw.url);
    // A parent app can ignore a final slash of the path.
    const ignored = path.endsWith("/") && !matched.endsWith("/") ? 1 : 0;
    const prefix = basePath(context, own).replace(/\/$/, "");
    const following = partsOf(matched) - partsOf(prefix) + ignored;
    return path.split("/").slice(0, partsOf(path) + 1 - following).join("/");
  }
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

function partsOf(path: string): number {
  return path.split("/").length - 1;
}

/** Returns the configured route of a request, such as `/api/notes/:id`; "" for no route. */
export type FindRoute = (request: Request) => string;

export function createRouteFinder(table: RouteTable, hono: Hono<AppEnv>): FindRoute {
  const patterns = new Map(table.routes.map((route) => [route, routePath(route)]));

  return function findRoute(request) {
    const { method, url } = request;
    const { path } = parseRequestTarget(url);
    const found = table.at(table.canonical(path) ?? path);
    if (found === null) return ofHono(request);
    // If no route has this method, any route will do: all have the same pattern.
    const route = found.get(method) ?? [...found.values()][0];
    return route === undefined ? "" : patterns.get(route) ?? "";
  };

  function ofHono(request: Request): string {
    const { method } = request;
    const asGet = method === "HEAD" ? "GET" : method;
    const [handlers] = hono.router.match(asGet, hono.getPath(request));
    // Finds the last handler, which creates the response. Skips middlewares and `elsewhere` (`/*`).
    const [[, route] = []] =
      handlers.findLast(([[, { path }]]) => !(path === "/*" || path === "*")) ?? [];
    return route?.path ?? "";
  }
}

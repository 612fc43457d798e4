import { type Context, Hono } from "@hono/hono";
import type { H, RouterRoute } from "@hono/hono/types";
import { getPath } from "@hono/hono/utils/url";
import type { Credentials, Router } from "../auth/authenticator.ts";
import { hideLink, linkToken, openLink } from "../resource/http/download_link.ts";
import { type BodyLimits, readBody } from "../resource/http/request_body.ts";
import {
  createHostCheck,
  invalidHost,
  parseRequestTarget,
} from "../resource/http/request_target.ts";
import type { RouteTable } from "../resource/routes/route_table.ts";
import type { ResourceRoute } from "../resource/routes/endpoint.ts";
import { routePath } from "../resource/routes/routes.ts";
import { withRouteDescription } from "../protocol/route_description.ts";
import { callerIdentity, type ReceivedRequest } from "../resource/routes/routed_request.ts";
import { catching, chain, type MaybePromise } from "../runtime/maybe_promise.ts";
import type { Clock } from "../runtime/runtime.ts";
import { type Authentication, type CountRefusal, mountAuthRoutes } from "./authentication.ts";
import {
  DirectCaller,
  HonoCaller,
  isServedByDeno,
  prepareContextFirst,
} from "./request_context.ts";
import type { AppEnv, Middleware } from "./middleware.ts";
import { RouteHandlers, type RouteHandlersOptions } from "./route_handlers.ts";
import type { ServicePage } from "./service_pages.ts";
import type { WebPage } from "./web/web_page.ts";
import { emptyStream, type ErrorResponder } from "./responder.ts";
import { METHOD_NAME_ALL, type Result, type Router as HonoRouter } from "@hono/hono/router";
import { TrieRouter } from "@hono/hono/router/trie-router";
import type { User } from "../auth/authorize.ts";
import { clientAddress } from "../guard/client_address.ts";
import { type EventLoopLimits, runInTurn } from "../resource/http/large_bodies.ts";
import type { WaitingRequest } from "../resource/http/request_scheduler.ts";

interface HonoAppOptions extends RouteHandlersOptions, Omit<ChainOptions, "authentication"> {
  /** Creates the authentication, which counts refusals; null if the app identifies no users. */
  readonly authenticate: ((countRefusal: CountRefusal) => Authentication) | null;
  readonly identify: Credentials["identify"] | null;
  /** True if the authentication consists of more than {@link identify}. */
  readonly authenticatesByContext: boolean;
  readonly links: Parameters<typeof openLink>[1];
}

interface ChainOptions {
  readonly table: RouteTable;
  readonly pages: readonly ServicePage[];
  readonly cors: Middleware | null;
  readonly authentication: Authentication | null;
  readonly middleware: readonly Middleware[];
  readonly authRoutes: readonly Router[];
  readonly authPath: string;
  readonly tolerantPaths: readonly string[];
  readonly fail: ErrorResponder;
  readonly limits: BodyLimits;
  readonly clock: Clock;
  readonly web: WebPage | null;
}

/** The Hono app of a service. `hono.fetch` is the same function as `fetch`. */
export interface HonoApp {
  readonly hono: Hono<AppEnv>;
  fetch(request: Request, info?: unknown): Promise<Response>;
  prefixOf(context: Context<AppEnv>): string;
}

export function createHonoApp(given: HonoAppOptions): HonoApp {
  const { table, fail, responder, mountedAt, authenticate } = given;
  const hasPlainHost = createHostCheck();
  const handlers = new RouteHandlers(given, hasPlainHost);
  const authentication = authenticate?.((context) => handlers.countRefusal(context)) ?? null;
  const options: ChainOptions = { ...given, authentication };
  const hono = assemble(options, handlers);
  const handleByHono = hono.fetch;
  const { identify, authenticatesByContext } = given;
  const isBare = given.cors === null && given.middleware.length === 0 && !authenticatesByContext;

  function fetch(request: Request, info: unknown = {}): Promise<Response> {
    return Promise.resolve(handle(request, info));
  }

  function handle(request: Request, info: unknown): MaybePromise<Response> {
    // Middlewares use the host and the path, so an invalid host is refused before they run.
    if (!hasPlainHost(request)) return fail(invalidHost(), request, mountedAt);
    if (!request.url.includes(linkToken)) return respond(request, info);
    const responding = catching(
      () => respond(openLink(request, given.links), info),
      (error) => fail(error, request, mountedAt),
    );
    return chain(responding, hideLink);
  }

  function respond(request: Request, info: unknown): MaybePromise<Response> {
    if (isBare) {
      const { method, url } = request;
      const target = parseRequestTarget(url);
      const path = table.canonical(target.path) ?? target.path;
      const route = table.at(path)?.get(method === "HEAD" ? "GET" : method);
      if (route !== undefined) return withoutContext(route, { request, target }, info);
    }
    return withContext(request, info);
  }

  /** Handles a request without creating a Hono context, which saves about 0.5 µs. */
  function withoutContext(
    route: ResourceRoute,
    received: Pick<ReceivedRequest, "request" | "target">,
    info: unknown,
  ): MaybePromise<Response> {
    const caller = new DirectCaller(info);
    return catching(
      () => handlers.direct(route, { ...received, caller }, identify),
      (error) => fail(error, received.request, mountedAt),
    );
  }

  async function withContext(request: Request, info: unknown): Promise<Response> {
    try {
      const response = await handleByHono(request, Object(info));
      // Hono removes the body for HEAD. For a null body, the server would send `Content-Length: 0`.
      const isUnknownLength = request.method === "HEAD" && !bodiless.has(response.status) &&
        !response.headers.has("content-length");
      const sent = isUnknownLength ? new Response(emptyStream(), response) : response;
      return responder.adopt(sent, isServedByDeno(info));
    } catch (error) {
      // `adopt` can throw, and Hono rethrows thrown values that are not Errors.
      return fail(error, request, mountedAt);
    }
  }

  // A listener or a test that uses the Hono app directly gets the same responses.
  hono.fetch = fetch;
  return { hono, fetch, prefixOf: (context) => handlers.prefixOf(context) };
}

/** The statuses of responses that have no body (RFC 9110, 15). */
const bodiless: ReadonlySet<number> = new Set([204, 205, 304]);

function middlewaresOf({ cors, authentication, middleware }: ChainOptions): readonly Middleware[] {
  return [cors, authentication?.authenticate ?? null, ...middleware].filter((one) => one !== null);
}

function assemble(options: ChainOptions, handlers: RouteHandlers): Hono<AppEnv> {
  const { table, pages, authentication, authRoutes, authPath, fail } = options;
  const matched = new Map<H, RouteHandler>();
  const hono = new Hono<AppEnv>({
    router: new ResourceHonoRouter(table, matched),
    getPath(request) {
      const { path } = parseRequestTarget(request.url);
      return path.includes("%") ? table.canonical(path) ?? getPath(request) : path;
    },
  });
  hono.onError((error, context) => fail(error, context.req.raw, handlers.prefixOf(context)));
  hono.notFound(handlers.unmatched);

  if (authentication !== null) {
    for (const path of pages.flatMap(({ path, isOpen }) => isOpen ? spellings(path) : [])) {
      hono.use(path, authentication.skip);
    }
    const tolerant = pages.flatMap((page) => page.toleratesStrangers === true ? [page.path] : []);
    for (const path of [...tolerant, ...options.tolerantPaths]) {
      hono.use(path, authentication.tolerate);
    }
    if (authRoutes.length > 0) hono.use(`${authPath}/*`, authentication.tolerate);
    // Everyone can read the page: a user whose session has ended needs it to log in.
    if (options.web !== null) {
      hono.use(
        "*",
        (context, next) =>
          handlers.isOfPage(context) ? authentication.tolerate(context, next) : next(),
      );
    }
  }
  useAll(hono, options);
  // A page that yields to the deployer's routes is served only by the last handler, `elsewhere`.
  for (const { path, yields, description } of pages) {
    if (!yields) hono.get(path, withRouteDescription(description, handlers.named("page")));
  }
  for (const routes of authRoutes) mountAuthRoutes(hono, authPath, routes);
  for (const route of table.routes) {
    const handler = handlers.named(route.endpoint.name);
    matched.set(handler, { route, handler: handlers.matched(route) });
    hono.on(route.method, routePath(route), handler);
  }
  hono.use("*", handlers.elsewhere);
  return hono;
}

function spellings(path: string): readonly string[] {
  return path.endsWith("/") ? [path, path.slice(0, -1)] : [path];
}

function useAll(hono: Hono<AppEnv>, options: ChainOptions): void {
  const { limits, clock, authRoutes, authPath } = options;
  const [first, ...others] = middlewaresOf(options);
  if (first !== undefined) hono.use("*", prepareContextFirst(first, limits, clock));
  else if (authRoutes.length > 0) {
    hono.use(`${authPath}/*`, prepareContextFirst((_, next) => next(), limits, clock));
  }
  for (const one of others) hono.use("*", one);
}

type RegisteredHandler = [handler: H, route: RouterRoute];

/** Looks up resources' routes in {@link RouteTable} by the raw path, others in Hono's router. */
class ResourceHonoRouter implements HonoRouter<RegisteredHandler> {
  readonly name = "ResourceHonoRouter";
  readonly #table: RouteTable;
  readonly #handlers: ReadonlyMap<H, RouteHandler>;
  readonly #middlewares: RegisteredHandler[] = [];
  readonly #chains = new Map<ResourceRoute, Result<RegisteredHandler>>();
  readonly #others = new TrieRouter<RegisteredHandler>();
  readonly #methods = new Set<string>();

  constructor(table: RouteTable, handlers: ReadonlyMap<H, RouteHandler>) {
    this.#table = table;
    this.#handlers = handlers;
  }

  /** Adds a handler after the existing ones. The app can add handlers at any time. */
  add(method: string, path: string, registered: RegisteredHandler): void {
    const [handler, honoRoute] = registered;
    const found = this.#handlers.get(handler);
    if (found === undefined) {
      if (method === METHOD_NAME_ALL && path === "/*") this.#middlewares.push(registered);
      this.#others.add(method, path, registered);
      this.#methods.add(method);
    } else {
      const last: RegisteredHandler = [found.handler, honoRoute];
      const chain = [...this.#middlewares, last];
      this.#chains.set(found.route, [chain.map((one) => [one, {}])]);
    }
  }

  match(method: string, path: string): Result<RegisteredHandler> {
    const route = this.#table.at(path)?.get(method);
    const chain = route === undefined ? undefined : this.#chains.get(route);
    // An unknown method could be `constructor`, which Hono would find in a plain object.
    return chain ?? this.#others.match(this.#methods.has(method) ? method : METHOD_NAME_ALL, path);
  }
}

interface RouteHandler {
  readonly route: ResourceRoute;
  readonly handler: H;
}

export interface BodyReadingOptions {
  readonly limits: BodyLimits;
  readonly queues: EventLoopLimits;
  readonly trustedProxies: number;
  readonly clock: Clock;
}

export interface BodyRequest {
  readonly caller: HonoCaller;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** The client's IP address; null if neither the listener nor a trusted proxy reports it. */
  readonly address: string | null;
  readonly waiting: WaitingRequest;
  /** Runs work that can block the event loop, when the scheduler selects this request. */
  inTurn<Result>(work: () => MaybePromise<Result>): MaybePromise<Result>;
}

/** Reads a request's body within the limits. Throws a 400, 408, 413 or 415. */
export async function readBodyRequest(
  context: Context<AppEnv>,
  parseUser: (value: unknown) => User | null,
  { limits, queues, trustedProxies, clock }: BodyReadingOptions,
): Promise<BodyRequest> {
  const { raw } = context.req;
  const caller = new HonoCaller(context, parseUser);
  const bytes = await readBody(raw, caller, { limits, clock });
  const address = clientAddress(raw.headers, caller.address(), trustedProxies);
  const waiting = {
    identity: callerIdentity(caller.user(), address),
    get signal() {
      return raw.signal;
    },
  };
  return {
    ...{ caller, bytes, address, waiting },
    inTurn: (work) => runInTurn(waiting, bytes, queues, work),
  };
}

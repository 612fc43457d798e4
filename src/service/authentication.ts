import { type Context, Hono, type MiddlewareHandler } from "@hono/hono";
import type { Credentials, Router } from "../auth/authenticator.ts";
import { Problem } from "../problem/problem.ts";
import type { Observer } from "../runtime/runtime.ts";
import { isHttpException } from "./responder.ts";
import type { AppEnv, Middleware } from "./middleware.ts";
import type { RouteTable } from "../resource/routes/route_table.ts";

export interface Authentication {
  readonly authenticate: Middleware;
  /** The middleware of paths whose requests are not authenticated. */
  readonly skip: MiddlewareHandler<AppEnv>;
  /** The middleware of paths on which a caller with a refused credential is anonymous. */
  readonly tolerate: MiddlewareHandler<AppEnv>;
}

/** Counts a request that authentication refused with 401. Throws a 429 above the rate limit. */
export type CountRefusal = (context: Context<AppEnv>) => Promise<void>;

export function createIdentifyMiddleware(
  identify: Credentials["identify"] | null,
  own: Middleware | undefined,
): Middleware | null {
  if (identify === null) return own ?? null;
  return async function identifyUser(context, next) {
    const user = await identify(context.req.raw);
    if (user !== null) context.set("user", user);
    return own === undefined ? await next() : await own(context, next);
  };
}

/** Creates the authentication of an app. `countRefusal` is null if there are no rate limits. */
export function createAuthentication(
  given: Middleware,
  observe: Observer,
  countRefusal: CountRefusal | null,
): Authentication {
  const exceptions = new WeakMap<Context, "skip" | "tolerate">();
  return {
    authenticate(context, next) {
      const exception = exceptions.get(context);
      if (exception === undefined) {
        // Calling the middleware directly saves a promise.
        return countRefusal === null ? given(context, next) : counted(countRefusal, context, next);
      }
      return exception === "skip" ? next() : tolerated(context, next);
    },
    skip(context, next) {
      exceptions.set(context, "skip");
      return next();
    },
    tolerate(context, next) {
      exceptions.set(context, "tolerate");
      return next();
    },
  };

  async function counted(
    count: CountRefusal,
    ...[context, next]: Parameters<Middleware>
  ): Promise<Response | void> {
    let isPassed = false;
    let response: Response | void;
    try {
      response = await given(context, () => {
        isPassed = true;
        return next();
      });
    } catch (error) {
      const isWrong = (error instanceof Problem || isHttpException(error)) && error.status === 401;
      if (!isPassed && isWrong) await count(context);
      throw error;
    }
    if (!isPassed && response instanceof Response && response.status === 401) await count(context);
    return response;
  }

  async function tolerated(...[context, next]: Parameters<Middleware>): Promise<Response | void> {
    let isPassed = false;
    try {
      const response = await given(context, () => {
        isPassed = true;
        return next();
      });
      if (isPassed) return response;
    } catch (error) {
      if (isPassed) throw error;
      if (!isRefusal(error)) {
        const { method, path } = context.req;
        observe({ kind: "request_failed", method, path, error });
      }
    }
    context.set("user", null);
    await next();
  }
}

function isRefusal(error: unknown): boolean {
  return (error instanceof Problem || isHttpException(error)) && error.status < 500;
}

/** Mounts the deployer's router. Only a Hono app shares the service's context and error handler. */
export function mountAuthRoutes(hono: Hono<AppEnv>, path: string, routes: Router): void {
  if (routes instanceof Hono || isForeignHono(routes) && hasErrorHandler(routes)) {
    // The cast is safe: `route` only reads routes and the error handler, which every Hono app has.
    hono.route(path, routes as unknown as Hono);
  } else if (isForeignHono(routes)) {
    const mounted = hono.basePath(path);
    for (const route of routes.routes) mounted.on(route.method, route.path, route.handler);
  } else {
    // The cast is safe: Hono also passes further arguments of `fetch`, e.g. the connection's info.
    hono.mount(path, routes.fetch.bind(routes) as (request: Request) => Response);
  }
}

/** A Hono app that another copy of Hono has created, e.g. the copy of the deployer's package. */
interface ForeignHono {
  readonly routes: Hono["routes"];
  readonly errorHandler: unknown;
}

function isForeignHono(routes: object): routes is ForeignHono {
  return "routes" in routes && Array.isArray(routes.routes) && "errorHandler" in routes;
}

function hasErrorHandler(routes: ForeignHono): boolean {
  const fresh: object = Reflect.construct(routes.constructor, []);
  return routes.errorHandler !== Reflect.get(fresh, "errorHandler");
}

/** Returns the routers for authentication. Throws a plain Error if a resource uses their path. */
export function authRoutersOf(
  given: readonly { readonly routes?: Router | undefined }[],
  { basePath }: { readonly basePath: string },
  table: RouteTable,
): readonly Router[] {
  const routers = given.flatMap(({ routes }) => routes ?? []);
  if (routers.length > 0) requireFreePath(`${basePath}/auth`, table);
  return routers;
}

function requireFreePath(path: string, { routes }: RouteTable): void {
  for (const { resource: { name, url } } of routes) {
    if (url === path || url.startsWith(`${path}/`)) {
      throw new Error(`Cannot serve "${name}" at ${url}: auth.routes are there`);
    }
  }
}

import { Hono } from "@hono/hono";
import type { RouteTable } from "../resource/routes/route_table.ts";
import type { Router } from "../auth/authenticator.ts";
import type { AppEnv } from "./middleware.ts";

/**
 * Mounts the deployer's router for authentication. A Hono app shares the context of the service's
 * app: its routes see the user, and its errors are handled like those of other routes. Any other
 * router receives requests without the path prefix.
 */
export function mountAuthRoutes(hono: Hono<AppEnv>, path: string, routes: Router): void {
  if (routes instanceof Hono || isForeignHono(routes) && hasErrorHandler(routes)) {
    // The cast is safe: `route` only reads routes and the error handler, which every Hono app has.
    hono.route(path, routes as unknown as Hono);
  } else if (isForeignHono(routes)) {
    const mounted = hono.basePath(path);
    for (const route of routes.routes) mounted.on(route.method, route.path, route.handler);
  } else {
    // `fetch` may accept further arguments, such as information about the connection.
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

/** Returns true if the error handler of an app differs from the default in its copy of Hono. */
function hasErrorHandler(routes: ForeignHono): boolean {
  const fresh: object = Reflect.construct(routes.constructor, []);
  return routes.errorHandler !== Reflect.get(fresh, "errorHandler");
}

/** Returns the routers for authentication. Throws a plain Error if a resource has their path. */
export function authRoutersOf(
  given: readonly { readonly routes?: Router | undefined }[],
  { basePath }: { readonly basePath: string },
  table: RouteTable,
): readonly Router[] {
  const routers = given.flatMap(({ routes }) => routes ?? []);
  if (routers.length > 0) requireFreePath(`${basePath}/auth`, table);
  return routers;
}

/** Throws if a resource has this path, because one of the two would be unreachable. */
function requireFreePath(path: string, { routes }: RouteTable): void {
  for (const { resource: { name, url } } of routes) {
    if (url === path || url.startsWith(`${path}/`)) {
      throw new Error(`Cannot serve "${name}" at ${url}: auth.routes are there`);
    }
  }
}

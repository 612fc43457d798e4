import type { Hono } from "@hono/hono";
import type { RouteTable } from "../../resource/routes/route_table.ts";
import { parseRequestTarget } from "../../resource/http/request_target.ts";
import { routePath } from "../../resource/routes/routes.ts";
import type { AppEnv } from "../middleware.ts";

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
    // The last handler creates the response. If its path is `/*`, it is a middleware or no route.
    const [[, route] = []] =
      handlers.findLast(([[, { path }]]) => !(path === "/*" || path === "*")) ?? [];
    return route?.path ?? "";
  }
}

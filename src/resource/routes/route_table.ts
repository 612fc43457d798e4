import { Problem } from "../../problem/problem.ts";
import type { Resource } from "../model/resource.ts";
import { createPathIndex, idPattern, pathsOf, type RoutesByMethod } from "./path_index.ts";
import { type ResourceRoute, type Route, routesOf } from "./routes.ts";

/** The table of the routes of all resources, by the raw paths of requests. */
export interface RouteTable {
  /** Every route, for registration: of nested resources the inner ones first. */
  readonly routes: readonly ResourceRoute[];
  /** The routes at a raw path, whichever method they answer; null if there are none. */
  at(path: string): RoutesByMethod | null;
  /**
   * One spelling of a raw path, whichever characters of the resource's own path a client
   * percent-encodes. What follows stays as it was sent: `%63ount` is an id, and `a%2Fb` one segment.
   * Null for a path with percent-encoding that leads to no resource.
   */
  canonical(path: string): string | null;
}

/**
 * Creates the table of the routes of an app's resources. Throws a plain Error when two resources
 * have the same path, or one has that of a route of another.
 */
export function createRouteTable(resources: readonly Resource[]): RouteTable {
  const urls = new Set<string>();
  for (const { url } of resources) {
    if (urls.has(url)) {
      throw new Error(`Cannot serve two resources at ${url}: give one a path of its own`);
    }
    urls.add(url);
  }
  const deepest = Math.max(0, ...resources.map(({ url }) => depthOf(url)));
  const routes = [...resources].sort((a, b) => depthOf(b.url) - depthOf(a.url))
    .flatMap((resource) => routesOf(resource).map((route) => ({ ...route, resource })));
  const paths = new Map(resources.map(({ url }) => [url, pathsOf(url)]));
  for (const route of routes) {
    const { url } = route.resource;
    const path = route.path === "/" ? url : url + route.path;
    // A resource whose path begins with that of another one owns everything below its own.
    const owner = route.path.startsWith(idPattern) ? url : splitOwned(path, urls, deepest)?.url;
    const own = paths.get(url);
    if (owner !== url || own === undefined) {
      throw new Error(
        `Cannot serve a resource at ${owner}: "${route.resource.name}" answers ${route.method} ` +
          `${path}, so give one another path`,
      );
    }
    own.add(route);
  }
  const find = createPathIndex([...paths.values()]);
  return {
    routes,
    at: (path) => find(withoutSlash(path)),
    canonical(path) {
      if (!path.includes("%")) return path;
      const owned = splitOwned(path, urls, deepest);
      return owned === null ? null : owned.url + owned.rest;
    },
  };
}

/**
 * The raw path segment of the id in a path that leads to this route; the empty string where the route
 * has no id. Counted from the end, because the path may begin with that of another app.
 */
export function idSegment(path: string, { path: pattern }: Route): string {
  if (!pattern.startsWith(idPattern)) return "";
  const trimmed = withoutSlash(path);
  const end = pattern === idPattern ? trimmed.length : trimmed.lastIndexOf("/");
  return trimmed.slice(trimmed.lastIndexOf("/", end - 1) + 1, end);
}

/** The methods of the `Allow` header where these are answered: `HEAD` is `GET`. */
export function allowedMethods(methods: Iterable<string>): readonly string[] {
  const names = [...methods];
  return names.includes("GET") ? [...names, "HEAD"] : names;
}

/** The 405 of a path that answers other methods, or the 404 of one that answers none. */
export function refuseMethod(method: string, answered: Iterable<string>): Problem {
  const allowed = allowedMethods(answered);
  return allowed.length === 0
    ? new Problem("not-found", "There is nothing at this path")
    : new Problem("method-not-allowed", `Cannot ${method.slice(0, 20)} here`, {
      headers: { allow: allowed.join(", ") },
    });
}

/** `/x/` is `/x`. */
function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** How many parts a path has between its slashes, the empty one before the first included. */
function depthOf(path: string): number {
  return path.split("/").length;
}

/** A path, separated into that of the resource that owns it and the raw rest. */
interface OwnedPath {
  readonly url: string;
  readonly rest: string;
}

/**
 * A resource's path is the longest known beginning of the path that ends at a slash. Each part is
 * decoded once, and none beyond the deepest resource: a client chooses how many there are.
 */
function splitOwned(
  path: string,
  urls: ReadonlySet<string>,
  deepest: number,
): OwnedPath | null {
  let owned: OwnedPath | null = null;
  let end = 0;
  let url = "";
  for (const part of path.split("/", deepest).slice(1)) {
    const segment = canonicalSegment(part);
    if (segment === null) break;
    end += 1 + part.length;
    url += `/${segment}`;
    if (urls.has(url)) owned = { url, rest: path.slice(end) };
  }
  return owned;
}

/** Null for a malformed segment, which no resource has; those after its path are checked later. */
function canonicalSegment(segment: string): string | null {
  if (!segment.includes("%")) return segment;
  try {
    return encodeURIComponent(decodeURIComponent(segment));
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

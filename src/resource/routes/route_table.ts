import { Problem } from "../../problem/problem.ts";
import type { Resource } from "../model/resource.ts";
import type { ResourceRoute, Route } from "./endpoint.ts";
import { routesOf } from "./routes.ts";
import { reservedPathSegments } from "../../plan/key.ts";

export type RouteTable = ReturnType<typeof createRouteTable>;

/** Throws a plain Error if a resource has the path, or a route's path, of another resource. */
export function createRouteTable(resources: readonly Resource[]) {
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
  const paths = new Map(resources.map(({ url }) => [url, createResourcePaths(url)]));
  for (const route of routes) {
    const { url } = route.resource;
    const path = route.path === "/" ? url : url + route.path;
    // The routes below a path belong to the resource with the longest matching path.
    const owner = route.path.startsWith(idParameter) ? url : splitOwned(path, urls, deepest)?.url;
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
    /** All routes. Resources whose paths have more segments come first. */
    routes,
    at: (path: string) => find(withoutSlash(path)),
    /**
     * Decodes the resource's part of a path, because clients can percent-encode any character. The
     * rest stays unchanged: `%63ount` is an id, `a%2Fb` is one segment.
     */
    canonical(path: string) {
      if (!path.includes("%")) return path;
      const owned = splitOwned(path, urls, deepest);
      return owned === null ? null : owned.url + owned.rest;
    },
  };
}

/** Finds the id from the end of a path, because an outer app can add segments at the start. */
export function idSegment(path: string, { path: pattern }: Route): string {
  if (!pattern.startsWith(idParameter)) return "";
  const trimmed = withoutSlash(path);
  const end = pattern === idParameter ? trimmed.length : trimmed.lastIndexOf("/");
  return trimmed.slice(trimmed.lastIndexOf("/", end - 1) + 1, end);
}

export function allowedMethods(methods: Iterable<string>): readonly string[] {
  const names = [...methods];
  return names.includes("GET") ? [...names, "HEAD"] : names;
}

export function methodProblem(method: string, answered: Iterable<string>): Problem {
  const allowed = allowedMethods(answered);
  return allowed.length === 0
    ? new Problem("not-found", "There is nothing at this path")
    : new Problem("method-not-allowed", `Cannot ${method.slice(0, 20)} here`, {
      headers: { allow: allowed.join(", ") },
    });
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

function depthOf(path: string): number {
  return path.split("/").length;
}

/** A request path, split into the decoded path of a resource and the rest, which stays encoded. */
interface OwnedPath {
  readonly url: string;
  readonly rest: string;
}

/** Splits a path after its longest prefix that is a resource's path, and decodes this prefix. */
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

function canonicalSegment(segment: string): string | null {
  if (!segment.includes("%")) return segment;
  try {
    return encodeURIComponent(decodeURIComponent(segment));
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}

export const idParameter = "/:id";

export type RoutesByMethod = ReadonlyMap<string, ResourceRoute>;

export type ResourcePaths = ReturnType<typeof createResourcePaths>;

export function createResourcePaths(url: string) {
  const own: RoutesOfPath = new Map();
  const row: RoutesOfPath = new Map();
  const fixed = new Map<string, RoutesOfPath>();
  const belowRow = new Map<string, RoutesOfPath>();
  const firstSegment = url.length + 1;
  return {
    url,
    add(route: ResourceRoute) {
      const { path, method } = route;
      const rest = path.slice(idParameter.length);
      if (path === "/") own.set(method, route);
      else if (path === idParameter) row.set(method, route);
      else if (path.startsWith(idParameter)) routesAt(belowRow, rest).set(method, route);
      else routesAt(fixed, path).set(method, route);
    },
    at(path: string) {
      if (path.length === url.length) return nullIfEmpty(own);
      const end = path.indexOf("/", firstSegment);
      // Most ids need no lookup, because no fixed route begins with their first character.
      if (reservedInitials.has(path.charCodeAt(firstSegment))) {
        const first = end < 0 ? path.slice(firstSegment) : path.slice(firstSegment, end);
        if (reservedPathSegments.has(first)) return fixed.get(path.slice(url.length)) ?? null;
      }
      return end < 0 ? nullIfEmpty(row) : belowRow.get(path.slice(end)) ?? null;
    },
  };
}

/**
 * Creates the function that finds the routes at a path. The function compares characters: a lookup
 * in a Map takes several times as long, because V8 must hash the path of every request.
 */
export function createPathIndex(
  all: readonly ResourcePaths[],
): (path: string) => RoutesByMethod | null {
  const urls = all.map(({ url }) => url);
  const distinct = distinctAt(urls);
  const byCode = new Map<number, ResourcePaths[]>();
  for (const paths of [...all].sort((a, b) => b.url.length - a.url.length)) {
    const code = paths.url.charCodeAt(distinct);
    byCode.set(code, [...byCode.get(code) ?? [], paths]);
  }
  return (path) => {
    const candidates = byCode.get(path.charCodeAt(distinct)) ?? [];
    for (const paths of candidates) {
      if (isBelow(path, paths.url)) return paths.at(path);
    }
    return null;
  };
}

type RoutesOfPath = Map<string, ResourceRoute>;

function routesAt(places: Map<string, RoutesOfPath>, path: string): RoutesOfPath {
  const routes: RoutesOfPath = places.get(path) ?? new Map();
  places.set(path, routes);
  return routes;
}

function nullIfEmpty(routes: RoutesOfPath): RoutesByMethod | null {
  return routes.size === 0 ? null : routes;
}

function isBelow(path: string, url: string): boolean {
  return path.startsWith(url) &&
    (path.length === url.length || path.charCodeAt(url.length) === slash);
}

function distinctAt(urls: readonly string[]): number {
  const [first = ""] = urls;
  // The index must be within the shortest path, which can be a prefix of another path.
  const last = Math.min(...urls.map(({ length }) => length)) - 1;
  for (let at = 0; at < first.length; at++) {
    const isSame = urls.every((url) => url.charCodeAt(at) === first.charCodeAt(at));
    if (!isSame || at === last) return at;
  }
  return 0;
}

const slash = 0x2f;
const reservedInitials: ReadonlySet<number> = new Set(
  [...reservedPathSegments].map((segment) => segment.charCodeAt(0)),
);

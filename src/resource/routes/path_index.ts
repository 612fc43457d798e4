import { reservedSegments } from "../../plan/key.ts";
import type { ResourceRoute } from "./routes.ts";

/** The parameter in the paths of routes. */
export const idPattern = "/:id";

/** The enabled routes at one path, by method. */
export type RoutesByMethod = ReadonlyMap<string, ResourceRoute>;

/** The paths of one resource, by what follows its own. */
export interface ResourcePaths {
  readonly url: string;
  /** Adds a route of the resource. */
  add(route: ResourceRoute): void;
  /** The routes at a path at or below that of the resource; null if there are none. */
  at(path: string): RoutesByMethod | null;
}

/** Makes the paths of a resource, without routes. */
export function pathsOf(url: string): ResourcePaths {
  const own: RoutesOfPath = new Map();
  const row: RoutesOfPath = new Map();
  /** As `/count`. */
  const fixed = new Map<string, RoutesOfPath>();
  /** Below a row, as `/restore`. */
  const belowRow = new Map<string, RoutesOfPath>();
  const firstSegment = url.length + 1;
  return {
    url,
    add(route) {
      const { path, method } = route;
      const rest = path.slice(idPattern.length);
      if (path === "/") own.set(method, route);
      else if (path === idPattern) row.set(method, route);
      else if (path.startsWith(idPattern)) routesAt(belowRow, rest).set(method, route);
      else routesAt(fixed, path).set(method, route);
    },
    at(path) {
      if (path.length === url.length) return nullIfEmpty(own);
      const end = path.indexOf("/", firstSegment);
      if (mayBeReserved(path.charCodeAt(firstSegment))) {
        const first = end < 0 ? path.slice(firstSegment) : path.slice(firstSegment, end);
        if (reservedSegments.has(first)) return fixed.get(path.slice(url.length)) ?? null;
      }
      return end < 0 ? nullIfEmpty(row) : belowRow.get(path.slice(end)) ?? null;
    },
  };
}

/**
 * Makes the function that finds the routes at a path without a slash at its end, by the longest path
 * of a resource that it begins with. It compares characters: to look a part of a path up by its hash
 * takes several times as long, since every request has another one.
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

/** The place of a character at which the paths of resources begin to differ. */
function distinctAt(urls: readonly string[]): number {
  const [first = ""] = urls;
  // Within the shortest path, which another one may begin with.
  const last = Math.min(...urls.map(({ length }) => length)) - 1;
  for (let at = 0; at < first.length; at++) {
    const isSame = urls.every((url) => url.charCodeAt(at) === first.charCodeAt(at));
    if (!isSame || at === last) return at;
  }
  return 0;
}

const slash = 0x2f;
const reservedInitials: ReadonlySet<number> = new Set(
  [...reservedSegments].map((segment) => segment.charCodeAt(0)),
);

/** Most keys begin with another character, and need not be looked up. */
function mayBeReserved(code: number): boolean {
  return reservedInitials.has(code);
}

import { METHOD_NAME_ALL, type Result, type Router } from "@hono/hono/router";
import { TrieRouter } from "@hono/hono/router/trie-router";
import type { H, RouterRoute } from "@hono/hono/types";
import type { RouteTable } from "../resource/routes/route_table.ts";
import type { ResourceRoute } from "../resource/routes/endpoint.ts";

export type RegisteredHandler = [handler: H, route: RouterRoute];

/**
 * The router of the Hono app. It looks up routes of resources in {@link RouteTable} by the raw
 * path, and all other routes in Hono's own router. It composes a route's chain of middlewares and
 * handler only once.
 */
export class ResourceHonoRouter implements Router<RegisteredHandler> {
  readonly name = "ResourceHonoRouter";
  readonly #table: RouteTable;
  readonly #handlers: ReadonlyMap<H, RouteHandler>;
  readonly #middlewares: RegisteredHandler[] = [];
  readonly #chains = new Map<ResourceRoute, Result<RegisteredHandler>>();
  readonly #others = new TrieRouter<RegisteredHandler>();
  readonly #methods = new Set<string>();

  /** `handlers` are the handlers that will be registered for the table's routes. */
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

  /** Returns the handlers for a request, in order. */
  match(method: string, path: string): Result<RegisteredHandler> {
    const route = this.#table.at(path)?.get(method);
    const chain = route === undefined ? undefined : this.#chains.get(route);
    // Hono would look up a method in a plain object, where e.g. `constructor` exists.
    return chain ?? this.#others.match(this.#methods.has(method) ? method : METHOD_NAME_ALL, path);
  }
}

export interface RouteHandler {
  readonly route: ResourceRoute;
  readonly handler: H;
}

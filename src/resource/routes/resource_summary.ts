import type { Resource } from "../model/resource.ts";
import { routesOf } from "./routes.ts";
import { allowedMethods } from "./route_table.ts";

/** The routes and the readable fields of a resource, for the start message and API descriptions. */
export interface ResourceSummary {
  /** The table's name. */
  readonly name: string;
  /** The URL of the resource, for example `/api/notes`. */
  readonly url: string;
  /** The property names of the primary key. */
  readonly key: readonly string[];
  /** The readable fields. */
  readonly fields: readonly string[];
  /** The paths of all routes, beginning with the resource's path, and the methods of each path. */
  readonly routes: readonly { readonly path: string; readonly methods: readonly string[] }[];
}

export function summarizeResource(resource: Resource): ResourceSummary {
  return {
    name: resource.name,
    url: resource.url,
    key: resource.table.primaryKey.map((column) => column.name),
    fields: resource.fields.readable.map((column) => column.name),
    routes: [...Map.groupBy(routesOf(resource), ({ path }) => path)].map(([path, routes]) => ({
      path,
      methods: allowedMethods(routes.map(({ method }) => method)),
    })),
  };
}

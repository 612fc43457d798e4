import type { Resource } from "../model/resource.ts";
import { routesOf } from "./routes.ts";
import { allowedMethods } from "./route_table.ts";

/** The summary of what a resource offers, for banners and descriptions. Names no hidden column. */
export interface ResourceSummary {
  /** The table's name. */
  readonly name: string;
  /** Where it is mounted, e.g. `/api/notes`. */
  readonly url: string;
  /** The property names of the primary key. */
  readonly key: readonly string[];
  /** The readable fields. */
  readonly fields: readonly string[];
  /** Every route below the URL with the methods that it answers. */
  readonly routes: readonly { readonly path: string; readonly methods: readonly string[] }[];
}

/** Summarizes what a resource offers. */
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

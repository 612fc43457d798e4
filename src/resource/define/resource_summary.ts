import type { Resource } from "./resource.ts";
import { allowedMethods, routesOf } from "../http/routes.ts";

/** What a resource offers, in a form to show. Holds no hidden column. */
export interface ResourceSummary {
  /** The table's name. */
  readonly name: string;
  /** Where it is mounted, e.g. `/api/notes`. */
  readonly url: string;
  /** The property names of the primary key. */
  readonly key: readonly string[];
  /** The readable fields. */
  readonly fields: readonly string[];
  /** Every route below the url with the methods it answers to. */
  readonly routes: readonly { readonly path: string; readonly methods: readonly string[] }[];
}

/** Resource → what may be shown of it. */
export function summarizeResource(resource: Resource): ResourceSummary {
  return {
    name: resource.name,
    url: resource.url,
    key: resource.table.primaryKey.map((column) => column.name),
    fields: resource.fields.readable.map((column) => column.name),
    routes: routesOf(resource).map(([path, methods]) => ({
      path,
      methods: allowedMethods(methods, resource),
    })),
  };
}

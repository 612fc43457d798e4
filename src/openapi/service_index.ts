import { type Access, authorize, type User } from "../auth/authorize.ts";
import { Problem } from "../problem/problem.ts";
import type { Resource } from "../resource/model/resource.ts";
import { narrowForCaller } from "../resource/rights/caller_view.ts";
import { routesOf } from "../resource/routes/routes.ts";
import { describeResource, type ResourceSchema } from "./service_schema.ts";

export interface ServiceIndex {
  readonly resources: readonly IndexEntry[];
}

export interface IndexEntry extends
  Pick<
    ResourceSchema,
    "name" | "description" | "path" | "primaryKey" | "fields" | "relations"
  > {
  readonly requests: readonly IndexRequest[];
}

export interface IndexRequest {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
}

/** Returns the index for a caller. A 401 or 403 of a scope omits routes; other errors reject. */
export async function serviceIndexFor(
  user: User | null,
  resources: readonly Resource[],
  prefix: string,
): Promise<ServiceIndex> {
  const granted = await Promise.all(resources.map(async (given) => {
    const resource = narrowForCaller(user, given);
    const accesses = await accessesOf(user, resource);
    const routes = await filtered(
      routesOf(resource),
      // Procedures have no scope, but a call can require a user.
      async ({ endpoint }) =>
        endpoint.accesses.every((access) => accesses.has(access)) &&
        await holds(() => endpoint.requireAccess(user, resource)),
    );
    return { described: describeResource(resource, prefix), isRead: accesses.has("read"), routes };
  }));
  const readable = new Set(
    granted.flatMap(({ isRead, described: { path } }) => isRead ? path : []),
  );
  return {
    resources: granted.filter(({ routes }) => routes.length > 0).map(
      ({ described: { name, description, path, primaryKey, fields, relations }, routes }) => ({
        ...{ name, path, primaryKey, fields },
        ...(description === undefined ? {} : { description }),
        relations: relations.filter((relation) => readable.has(relation.path)),
        requests: routes.map((route) => ({
          operation: route.endpoint.name,
          method: route.method,
          path: route.path === "/" ? path : path + route.path.replace(":id", "{id}"),
        })),
      }),
    ),
  };
}

async function accessesOf(user: User | null, resource: Resource): Promise<ReadonlySet<Access>> {
  const wanted = new Set(routesOf(resource).flatMap(({ endpoint }) => endpoint.accesses));
  return new Set(
    await filtered([...wanted], (access) => holds(() => authorize(access, user, resource.policy))),
  );
}

async function filtered<Item>(
  items: readonly Item[],
  fits: (item: Item) => Promise<boolean>,
): Promise<readonly Item[]> {
  const kept = await Promise.all(items.map(fits));
  return items.filter((_, index) => kept[index]);
}

async function holds(work: () => unknown): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof Problem && (error.status === 401 || error.status === 403)) return false;
    throw error;
  }
}

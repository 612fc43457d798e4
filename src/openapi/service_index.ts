import { authorize } from "../auth/authorize.ts";
import type { Access } from "../auth/scope.ts";
import type { User } from "../auth/user.ts";
import { Problem } from "../problem/problem.ts";
import type { Resource } from "../resource/model/resource.ts";
import { narrowForCaller } from "../resource/rights/caller_view.ts";
import type { Route } from "../resource/routes/endpoint.ts";
import { routesOf } from "../resource/routes/routes.ts";
import { type FieldSchema, fieldsOf } from "./fields.ts";
import { describeRelation, type RelationSchema } from "./service_schema.ts";

/** The index of a service: its resources and the operations that one caller can use. */
export interface ServiceIndex {
  readonly resources: readonly IndexEntry[];
}

export interface IndexEntry {
  readonly name: string;
  /** The comment on the table in the database. Absent for none. */
  readonly description?: string;
  readonly path: string;
  readonly primaryKey: readonly string[];
  readonly fields: readonly FieldSchema[];
  /** Relations to other resources that the caller can read. */
  readonly relations: readonly RelationSchema[];
  /** The requests that the caller is allowed to send. */
  readonly requests: readonly IndexRequest[];
}

export interface IndexRequest {
  readonly operation: string;
  readonly method: string;
  /** Path of the request, with `{id}` in place of a key. */
  readonly path: string;
}

/**
 * Returns the service index for one caller. It omits resources to which the caller has no access.
 * Rejects if a scope function throws anything but a 401 or 403.
 */
export async function serviceIndexFor(
  user: User | null,
  resources: readonly Resource[],
  prefix: string,
): Promise<ServiceIndex> {
  const granted = await Promise.all(
    resources.map(async (resource) =>
      [narrowForCaller(user, resource), await accessesOf(user, resource)] as const
    ),
  );
  const readable = new Set(
    granted.filter(([, accesses]) => accesses.has("read")).map(([{ url }]) => url),
  );
  return {
    resources: granted.flatMap(([resource, accesses]) => {
      const routes = routesOf(resource).filter((route) => mayUse(route, user, resource, accesses));
      if (routes.length === 0) return [];
      const { name, url, table, fields, relations, served } = resource;
      return [{
        name,
        ...(table.description === null ? {} : { description: table.description }),
        path: prefix + url,
        primaryKey: table.primaryKey.filter((column) => fields.readable.includes(column))
          .map((column) => column.name),
        fields: fieldsOf(resource),
        relations: [...relations.values()].flatMap((relation) => {
          const target = served.get(relation.target);
          const isReadable = target !== undefined && readable.has(target.url);
          return isReadable ? describeRelation(relation, resource, prefix) : [];
        }),
        requests: routes.map((route) => requestOf(route, prefix + url)),
      }];
    }),
  };
}

/** Returns the kinds of access that the caller has, for all rows or for some of them. */
async function accessesOf(user: User | null, resource: Resource): Promise<ReadonlySet<Access>> {
  const wanted = new Set(routesOf(resource).flatMap(({ endpoint }) => endpoint.accesses));
  const granted = await Promise.all([...wanted].map(async (access) => {
    return await isGranted(access, user, resource) ? [access] : [];
  }));
  return new Set(granted.flat());
}

async function isGranted(access: Access, user: User | null, resource: Resource): Promise<boolean> {
  return await holds(() => authorize(access, user, resource.policy));
}

function mayUse(
  { endpoint }: Route,
  user: User | null,
  resource: Resource,
  accesses: ReadonlySet<Access>,
): boolean {
  if (!endpoint.accesses.every((access) => accesses.has(access))) return false;
  // Procedures have no scope, but a call can require a user.
  try {
    endpoint.requireAccess(user, resource);
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

async function holds(work: () => unknown): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof Problem && (error.status === 401 || error.status === 403);
}

function requestOf({ endpoint, method, path }: Route, url: string): IndexRequest {
  return {
    operation: endpoint.name,
    method,
    path: path === "/" ? url : url + path.replace(":id", "{id}"),
  };
}

import type { Access } from "../auth/scope.ts";
import type { User } from "../auth/user.ts";
import { reservedSegments as reserved } from "../plan/reserved_segments.ts";
import { Problem } from "../problem/problem.ts";
import type { Reply } from "../protocol/reply.ts";
import { batchCreate } from "./batch_create.ts";
import { batchDelete } from "./batch_delete.ts";
import { batchReplace } from "./batch_replace.ts";
import { batchUpdate } from "./batch_update.ts";
import { count } from "./count.ts";
import { create } from "./create.ts";
import { get } from "./get.ts";
import { list } from "./list.ts";
import type { Operation, OperationName, ResourceRequest } from "./operation.ts";
import { remove } from "./remove.ts";
import { restore } from "./restore.ts";
import { replace } from "./replace.ts";
import type { Resource, SettledCapabilities } from "./resource.ts";
import { run } from "./run.ts";
import { subscribe } from "./subscribe.ts";
import { update } from "./update.ts";
import { upsert } from "./upsert.ts";

/** An operation at its place, ready to run. */
export interface Endpoint {
  readonly name: OperationName;
  readonly access: Access;
  readonly takesBody: boolean;
  /** The capabilities that must be on, all of them; none for what is always there. */
  readonly capabilities: readonly (keyof SettledCapabilities)[];
  run(request: ResourceRequest, user: User | null, resource: Resource): Promise<Reply>;
}

type Methods = ReadonlyMap<string, Endpoint>;

const collection: Methods = new Map([
  ["GET", mount(list)],
  ["POST", mount(create, "enableCreate")],
]);
const item: Methods = new Map([
  ["GET", mount(get)],
  ["PATCH", mount(update, "enableUpdate")],
  ["PUT", mount(replace, "enableUpdate")],
  ["DELETE", mount(remove, "enableDelete")],
]);
const restoring: Methods = new Map([["POST", mount(restore, "enableRestore")]]);
const subscribing: Methods = new Map([["GET", mount(subscribe, "enableSubscribe")]]);
const counting: Methods = new Map([["GET", mount(count)]]);
const batches: Methods = new Map([
  ["POST", mount(batchCreate, "enableBatch", "enableCreate")],
  ["PATCH", mount(batchUpdate, "enableBatch", "enableUpdate")],
  ["PUT", mount(batchReplace, "enableBatch", "enableUpdate")],
  ["DELETE", mount(batchDelete, "enableBatch", "enableDelete")],
]);
const upserting: Methods = new Map([
  ["POST", mount(upsert, "enableBatch", "enableCreate", "enableUpdate")],
]);

/** Where each operation stands below the path of a resource, for descriptions. */
export const resourceRoutes: readonly (readonly [path: string, methods: Methods])[] = [
  ["/", collection],
  ["/count", counting],
  ["/subscribe", subscribing],
  ["/batch", batches],
  ["/batch/upsert", upserting],
  ["/:id", item],
  ["/:id/restore", restoring],
];

/**
 * The endpoint for a method and the raw path segments behind the resource's path. `HEAD` is `GET`.
 * Throws a 404, or a 405 with `Allow` where another method of the path is enabled.
 */
export function findEndpoint(
  method: string,
  segments: readonly string[],
  resource: Resource,
): Endpoint {
  const methods = methodsAt(segments);
  const endpoint = methods?.get(method === "HEAD" ? "GET" : method);
  if (endpoint !== undefined && isEnabled(endpoint, resource)) return endpoint;
  const allowed = methods === null ? [] : allowedMethods(methods, resource);
  if (allowed.length === 0) throw new Problem("not-found", "There is nothing at this path");
  throw new Problem("method-not-allowed", `Cannot ${method.slice(0, 20)} here`, {
    headers: { allow: allowed.join(", ") },
  });
}

/** The methods that a path answers to, `HEAD` included. */
export function allowedMethods(methods: Methods, resource: Resource): readonly string[] {
  const names = [...methods].filter(([, endpoint]) => isEnabled(endpoint, resource))
    .map(([name]) => name);
  return names.includes("GET") ? [...names, "HEAD"] : names;
}

function methodsAt(segments: readonly string[]): Methods | null {
  const [first, second, third] = segments;
  if (first === undefined) return collection;
  if (first === "batch") return batchMethodsAt(second, third);
  if (second !== undefined) {
    const isRestore = second === "restore" && third === undefined && !reserved.has(first);
    return isRestore ? restoring : null;
  }
  if (first === "count") return counting;
  if (first === "subscribe") return subscribing;
  return reserved.has(first) ? null : item;
}

function batchMethodsAt(second: string | undefined, third: string | undefined): Methods | null {
  if (second === undefined) return batches;
  return second === "upsert" && third === undefined ? upserting : null;
}

function isEnabled({ capabilities }: Endpoint, resource: Resource): boolean {
  return capabilities.every((capability) => resource.capabilities[capability]);
}

function mount<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  ...capabilities: Endpoint["capabilities"]
): Endpoint {
  return {
    name: operation.name,
    access: operation.access,
    takesBody: operation.takesBody,
    capabilities,
    run: (request, user, resource) => run(operation, request, user, resource),
  };
}

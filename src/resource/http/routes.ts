import { requireAccess, requireUser } from "../../auth/authorize.ts";
import type { User } from "../../auth/user.ts";
import type { OperationProtection } from "../../guard/operation_protection.ts";
import { reservedSegments as reserved } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import { jsonType, type Reply } from "../../protocol/reply.ts";
import { acceptedType } from "./accepted_type.ts";
import { aggregate } from "../operations/aggregate.ts";
import { batchCreate } from "../operations/batch_create.ts";
import { batchDelete } from "../operations/batch_delete.ts";
import { batchReplace } from "../operations/batch_replace.ts";
import { batchUpdate } from "../operations/batch_update.ts";
import { callProcedure } from "../operations/call_procedure.ts";
import { count } from "../operations/count.ts";
import { create } from "../operations/create.ts";
import { csv } from "../read/csv.ts";
import { exportRows } from "../operations/export.ts";
import { get } from "../operations/get.ts";
import { list } from "../operations/list.ts";
import { ndjson } from "../read/ndjson.ts";
import type { Operation, OperationName, ResourceRequest } from "../operation.ts";
import { remove } from "../operations/delete.ts";
import { restore } from "../operations/restore.ts";
import { replace } from "../operations/replace.ts";
import type { ResolvedCapabilities, Resource } from "../define/resource.ts";
import type { RowFormat } from "../read/row_format.ts";
import { authorizeAgain, runOperation } from "../run_operation.ts";
import { subscribe } from "../operations/subscribe.ts";
import { subscribeAggregate } from "../operations/subscribe_aggregate.ts";
import { update } from "../operations/update.ts";
import { batchUpsert } from "../operations/batch_upsert.ts";

/** One route of a resource: an operation at its method and path, ready to run. */
export interface Endpoint {
  readonly name: OperationName;
  readonly takesBody: boolean;
  /** What the guard requires of requests; undefined where nothing is. */
  protection(resource: Resource): OperationProtection | undefined;
  /** The capabilities that must all be on; empty where the endpoint always exists. */
  readonly capabilities: readonly (keyof ResolvedCapabilities)[];
  /** Throws the 401 or 403 that is certain before the body or the scope is evaluated. */
  requireAccess(user: User | null, resource: Resource): void;
  /** Throws where the user has no right to what `request` wants, and does nothing else. */
  authorize(request: () => ResourceRequest, user: User | null, resource: Resource): Promise<void>;
  run(request: ResourceRequest, user: User | null, resource: Resource): Promise<Reply>;
}

type Methods = ReadonlyMap<string, Endpoint>;

const collection: Methods = new Map([
  ["GET", listOrExport(endpointOf(list), [csv, ndjson])],
  ["POST", endpointOf(create, "enableCreate")],
]);
const item: Methods = new Map([
  ["GET", endpointOf(get)],
  ["PATCH", endpointOf(update, "enableUpdate")],
  ["PUT", endpointOf(replace, "enableUpdate")],
  ["DELETE", endpointOf(remove, "enableDelete")],
]);
const restoring: Methods = new Map([["POST", endpointOf(restore, "enableRestore")]]);
const subscribing: Methods = new Map([["GET", endpointOf(subscribe, "enableSubscribe")]]);
const counting: Methods = new Map([["GET", endpointOf(count)]]);
const aggregating: Methods = new Map([["GET", endpointOf(aggregate, "enableAggregations")]]);
const aggregatesSubscribing: Methods = new Map([
  ["GET", endpointOf(subscribeAggregate, "enableAggregations", "enableSubscribe")],
]);
const batches: Methods = new Map([
  ["POST", endpointOf(batchCreate, "enableBatch", "enableCreate")],
  ["PATCH", endpointOf(batchUpdate, "enableBatch", "enableUpdate")],
  ["PUT", endpointOf(batchReplace, "enableBatch", "enableUpdate")],
  ["DELETE", endpointOf(batchDelete, "enableBatch", "enableDelete")],
]);
const upserting: Methods = new Map([
  ["POST", endpointOf(batchUpsert, "enableBatch", "enableCreate", "enableUpdate")],
]);

type Route = readonly [path: string, methods: Methods];

/** All routes of a resource, as paths below its own path, for descriptions. */
export function routesOf(resource: Resource): readonly Route[] {
  const procedures = [...resource.procedures.keys()].map((name): Route => [
    `/rpc/${name}`,
    procedureMethodsAt(name, resource) ?? new Map(),
  ]);
  return [...fixedRoutes, ...procedures];
}

const fixedRoutes: readonly Route[] = [
  ["/", collection],
  ["/count", counting],
  ["/aggregate", aggregating],
  ["/aggregate/subscribe", aggregatesSubscribing],
  ["/subscribe", subscribing],
  ["/batch", batches],
  ["/batch/upsert", upserting],
  ["/:id", item],
  ["/:id/restore", restoring],
];

/**
 * Finds the route for a method and the raw path segments after the resource's path. `HEAD` is
 * `GET`. Throws a 404, or a 405 with `Allow` where another method of the path is enabled.
 */
export function findEndpoint(
  method: string,
  segments: readonly string[],
  resource: Resource,
): Endpoint {
  const methods = methodsAt(segments, resource);
  const endpoint = methods?.get(method === "HEAD" ? "GET" : method);
  if (endpoint !== undefined && isEnabled(endpoint, resource)) return endpoint;
  const allowed = methods === null ? [] : allowedMethods(methods, resource);
  if (allowed.length === 0) throw new Problem("not-found", "There is nothing at this path");
  throw new Problem("method-not-allowed", `Cannot ${method.slice(0, 20)} here`, {
    headers: { allow: allowed.join(", ") },
  });
}

/** The enabled methods of the routes at one path, `HEAD` included. */
export function allowedMethods(methods: Methods, resource: Resource): readonly string[] {
  const names = [...methods].filter(([, endpoint]) => isEnabled(endpoint, resource))
    .map(([name]) => name);
  return names.includes("GET") ? [...names, "HEAD"] : names;
}

function methodsAt(segments: readonly string[], resource: Resource): Methods | null {
  const [first, second, third] = segments;
  if (first === undefined) return collection;
  if (first === "batch") return batchMethodsAt(second, third);
  if (first === "rpc") return third === undefined ? procedureMethodsAt(second, resource) : null;
  if (second !== undefined) {
    if (first === "aggregate" && second === "subscribe" && third === undefined) {
      return aggregatesSubscribing;
    }
    const isRestore = second === "restore" && third === undefined && !reserved.has(first);
    return isRestore ? restoring : null;
  }
  if (first === "count") return counting;
  if (first === "aggregate") return aggregating;
  if (first === "subscribe") return subscribing;
  return reserved.has(first) ? null : item;
}

function batchMethodsAt(second: string | undefined, third: string | undefined): Methods | null {
  if (second === undefined) return batches;
  return second === "upsert" && third === undefined ? upserting : null;
}

/** Looked up without decoding: a name holds no character that would need percent-encoding. */
function procedureMethodsAt(name: string | undefined, resource: Resource): Methods | null {
  const procedure = name === undefined ? undefined : resource.procedures.get(name);
  if (name === undefined || procedure === undefined) return null;
  return new Map([["POST", {
    name: "procedure",
    takesBody: true,
    capabilities: [],
    protection: ({ procedureProtections }) => procedureProtections.get(name),
    requireAccess: (user) => {
      if (procedure.public !== true) requireUser(`call ${name}`, user);
    },
    // A procedure requires a user at most, which `requireAccess` has checked.
    authorize: () => Promise.resolve(),
    run: (request, user, resource) =>
      callProcedure(procedure, { name, call: { request, user, resource } }),
  }]]);
}

function isEnabled({ capabilities }: Endpoint, resource: Resource): boolean {
  return capabilities.every((capability) => resource.capabilities[capability]);
}

/** Runs the export instead where it is enabled and the client prefers one of its formats. */
function listOrExport(listing: Endpoint, formats: readonly RowFormat[]): Endpoint {
  const exports: ReadonlyMap<string, Endpoint> = new Map(
    formats.map((format) => [format.type, endpointOf(exportRows(format), "enableExport")]),
  );
  return {
    ...listing,
    run(request, user, resource) {
      if (!resource.capabilities.enableExport) return listing.run(request, user, resource);
      const type = acceptedType(request.header("accept"), [jsonType, ...exports.keys()]);
      return (exports.get(type) ?? listing).run(request, user, resource);
    },
  };
}

function endpointOf<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  ...capabilities: Endpoint["capabilities"]
): Endpoint {
  return {
    name: operation.name,
    takesBody: operation.takesBody,
    capabilities,
    protection: ({ protections }) => protections.get(operation.access),
    requireAccess(user, { policy }) {
      requireAccess(operation.access, user, policy);
      if (operation.alsoAccess !== undefined) requireAccess(operation.alsoAccess, user, policy);
    },
    authorize: (request, user, resource) => authorizeAgain(operation, request, user, resource),
    run: (request, user, resource) => runOperation(operation, request, user, resource),
  };
}

import { requireUser } from "../../auth/authorize.ts";
import { invalidParameter, Problem } from "../../problem/problem.ts";
import { aggregate, subscribeAggregate } from "../operations/aggregate.ts";
import { batchCreate, create } from "../operations/create.ts";
import { batchDelete, deleteOperation } from "../operations/delete.ts";
import { history } from "../operations/history.ts";
import { revert } from "../operations/revert.ts";
import { restore } from "../operations/restore.ts";
import { batchReplace } from "../operations/batch_replace.ts";
import { batchUpdate } from "../operations/batch_update.ts";
import { answerProcedure, callProcedure } from "../operations/call_procedure.ts";
import { count } from "../operations/count.ts";
import { csv } from "../shape/csv.ts";
import { exportRows } from "../operations/export.ts";
import { get } from "../operations/get.ts";
import { importOperation } from "../operations/import.ts";
import { list } from "../operations/list.ts";
import { ndjson } from "../shape/ndjson.ts";
import type { ResourceRequest } from "../model/operation.ts";
import { replace, update } from "../operations/update.ts";
import { candidatesOf, type Procedure } from "../model/procedure.ts";
import type { Resource } from "../model/resource.ts";
import { search } from "../operations/search.ts";
import { subscribe } from "../operations/subscribe.ts";
import { batchUpsert, upsert } from "../operations/upsert.ts";
import {
  type Endpoint,
  endpointOf,
  listOrExport,
  type ResourceRoute,
  type Route,
} from "./endpoint.ts";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { jsonContentType, type Reply } from "../../protocol/reply.ts";
import { chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import { listsTag } from "../http/etag.ts";
import { parameterText, parseQuery, type Query } from "../http/query_parameters.ts";
import { requireObject } from "../write/values/parse_fields.ts";

export function routePath({ path, resource: { url } }: ResourceRoute): string {
  return path === "/" ? url : url + path;
}

const exports: ReadonlyMap<string, Endpoint> = new Map(
  [csv, ndjson].map((format) => [format.type, endpointOf(exportRows(format), "enableExport")]),
);

const listing = listOrExport(endpointOf(list), exports);

/** All routes except procedures. Fixed paths come first, for routers that use the first match. */
const fixedRoutes: readonly Route[] = [
  route("GET", "/", listing),
  route("POST", "/", createOrUpsert(endpointOf(create, "enableCreate"), endpointOf(upsert))),
  route("POST", "/query", queryByBody(listing)),
  route("GET", "/count", endpointOf(count)),
  route("GET", "/aggregate", endpointOf(aggregate, "enableAggregations")),
  route(
    "GET",
    "/aggregate/subscribe",
    endpointOf(subscribeAggregate, "enableAggregations", "enableSubscribe"),
  ),
  route("GET", "/search", endpointOf(search, "enableSearch")),
  route("GET", "/subscribe", endpointOf(subscribe, "enableSubscribe")),
  route("POST", "/batch", endpointOf(batchCreate, "enableBatch", "enableCreate")),
  route("POST", "/import", endpointOf(importOperation, "enableImport", "enableCreate")),
  route("PATCH", "/batch", endpointOf(batchUpdate, "enableBatch", "enableUpdate")),
  route("PUT", "/batch", endpointOf(batchReplace, "enableBatch", "enableUpdate")),
  route("DELETE", "/batch", endpointOf(batchDelete, "enableBatch", "enableDelete")),
  route(
    "POST",
    "/batch/upsert",
    endpointOf(batchUpsert, "enableBatch", "enableCreate", "enableUpdate"),
  ),
];

const rowRoutes: readonly Route[] = [
  route("GET", "/:id", endpointOf(get)),
  route("PATCH", "/:id", endpointOf(update, "enableUpdate")),
  route("PUT", "/:id", endpointOf(replace, "enableUpdate")),
  route("DELETE", "/:id", endpointOf(deleteOperation, "enableDelete")),
  route("POST", "/:id/restore", endpointOf(restore, "enableRestore")),
  route("GET", "/:id/history", endpointOf(history, "enableHistory")),
  route("POST", "/:id/revert", endpointOf(revert, "enableHistory", "enableUpdate")),
];

export function routesOf(resource: Resource): readonly Route[] {
  const procedures = [...resource.procedures].flatMap(([name, procedure]) => {
    const endpoint = procedureEndpoint(name, procedure);
    const called = route("POST", `/rpc/${name}`, endpoint);
    return candidatesOf(procedure).some((one) => one.isQuery && one.bodyType === null)
      ? [called, route("GET", `/rpc/${name}`, { ...endpoint, takesBody: false })]
      : [called];
  });
  const { columns, primaryKey } = resource.table;
  const ofTable = columns.length === 0 ? [] : fixedRoutes;
  const ofRows = primaryKey.length === 0 ? [] : rowRoutes;
  return [...ofTable, ...procedures, ...ofRows].filter(({ endpoint }) =>
    endpoint.capabilities.every((capability) => resource.capabilities[capability])
  );
}

function route(method: string, path: string, endpoint: Endpoint): Route {
  return { method, path, endpoint };
}

function procedureEndpoint(name: string, procedure: Procedure): Endpoint {
  const { databaseFunction: called, permits } = procedure;
  const candidates = candidatesOf(procedure);
  const names = candidates.flatMap(({ args }) => args.flatMap(({ column }) => column.name || []));
  const parameters = called && new Set([...names, "offset"]);
  const rawTypes = candidates.flatMap(({ bodyType }) => bodyType ?? [])
    .filter((type) => type !== jsonContentType);
  const call = async (...[request, user, resource]: Parameters<Endpoint["call"]>) => {
    if (called === undefined) {
      return await callProcedure(procedure, { name, call: { request, user, resource } });
    }
    const { callFunction } = await import("./function_endpoint.ts");
    return await callFunction(called, { request, user, resource });
  };
  return {
    name: "procedure",
    takesBody: true,
    ...(rawTypes.length === 0 ? {} : { rawTypes }),
    ownParameters: () => parameters,
    accesses: [],
    capabilities: [],
    protection: ({ procedureProtections }) => procedureProtections.get(name),
    requireAccess: (user) => {
      if (procedure.public !== true) requireUser(`call ${name}`, user);
      if (permits === undefined || permits(user)) return;
      throw new Problem("forbidden", `Cannot call ${name}: you have no right to`);
    },
    // A procedure can require a logged-in user, which `requireAccess` has already checked.
    authorize: () => Promise.resolve(),
    run: async (request, user, resource) =>
      called === undefined
        ? await answerProcedure(procedure, { name, call: { request, user, resource } })
        : (await call(request, user, resource)).writeAll(),
    call,
  };
}

function createOrUpsert(creating: Endpoint, upserting: Endpoint): Endpoint {
  const chosen = ({ query }: ResourceRequest, { capabilities }: Resource): Endpoint => {
    if (!query.has("on")) return creating;
    if (capabilities.enableUpdate) return upserting;
    throw invalidParameter("Cannot upsert: rows of this resource do not change");
  };
  return {
    ...creating,
    ownParameters: upserting.ownParameters,
    async authorize(request, user, resource) {
      let endpoint = creating;
      try {
        endpoint = chosen(request(), resource);
      } catch (error) {
        // A stored response to invalid parameters contains no row: access to `creating` is enough.
        if (!(error instanceof Problem)) throw error;
      }
      await endpoint.authorize(request, user, resource);
    },
    run: (request, user, resource) => chosen(request, resource).run(request, user, resource),
    call: (request, user, resource) => chosen(request, resource).call(request, user, resource),
  };
}

/** Reads like `reading`, with parameters from a JSON body. The ETag is a hash of the rows. */
function queryByBody(reading: Endpoint): Endpoint {
  return {
    ...reading,
    name: "query",
    takesBody: true,
    run: (request, user, resource) => {
      const [inUrl] = request.query.keys();
      if (inUrl !== undefined) {
        throw invalidParameter(
          `Cannot use "${inUrl}" in the URL of POST /query: the parameters are members of the body`,
        );
      }
      const query = queryOfBody(request.body, reading, resource);
      return chain(
        reading.run({ ...request, body: undefined, query }, user, resource),
        (reply) => taggedReply(reply, request.header("if-none-match")),
      );
    },
  };
}

/** Parses the members of a body like the parameters of a URL, so both have the same errors. */
function queryOfBody(body: unknown, reading: Endpoint, resource: Resource): Query {
  const members = Object.entries(requireObject(body)).filter(([, value]) => value !== null);
  const raw = members.map(([name, value]) => {
    const isText = ["string", "number", "bigint", "boolean"].includes(typeof value);
    if (!isText && !(Array.isArray(value) && value.every((item) => typeof item === "string"))) {
      const needed = "it must be a string, a number, a boolean or a list of strings";
      throw invalidParameter(`Cannot use "${name.slice(0, 20)}": ${needed}`);
    }
    const text = parameterText(name, value);
    return `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(text.toWellFormed())}`;
  });
  const query = parseQuery(raw.join("&"), resource.strictQuery, reading.ownParameters(resource));
  return Object.assign(new Map(query), { isInBody: true } as const);
}

function taggedReply(reply: Reply, ifNoneMatch: string | null): MaybePromise<Reply> {
  const { status, headers, body } = reply;
  const isJson = headers["content-type"]?.startsWith(jsonContentType) === true;
  if (status !== 200 || body === null || !isJson) return reply;
  const tagged = (body: Reply["body"], bytes: Buffer): Reply => {
    const etag = tagOfPage(bytes);
    if (ifNoneMatch === null || !listsTag(ifNoneMatch, [etag])) {
      return { status, headers: { ...headers, etag }, body };
    }
    const { "content-type": _type, "content-length": _length, ...kept } = headers;
    return { status: 304, headers: { ...kept, etag }, body: null };
  };
  if (typeof body === "string") return tagged(body, Buffer.from(body));
  // All parts of the stream are in memory already, so the hash needs no additional reads.
  return Array.fromAsync(body).then((parts) =>
    tagged(ReadableStream.from(parts), Buffer.concat(parts))
  );
}

/** Returns the weak ETag of a page: a hash without `nextCursor`, which differs for equal pages. */
function tagOfPage(page: Buffer): string {
  const more = page.lastIndexOf(moreMember);
  const hasCursor = page.subarray(more + moreMember.length).toString("latin1").startsWith("true");
  const start = hasCursor ? page.lastIndexOf(cursorMember, more) : page.length;
  const hash = createHash("sha256").update(page.subarray(0, start));
  if (hasCursor) hash.update(page.subarray(more));
  return `W/"${hash.digest("base64url")}"`;
}

const cursorMember = '"nextCursor":"';
const moreMember = '"hasMore":';

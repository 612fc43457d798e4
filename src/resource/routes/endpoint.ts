import { type Access, requireAccess, type User } from "../../auth/authorize.ts";
import type { OperationProtection } from "../../guard/operation_protection.ts";
import { jsonContentType, type Reply } from "../../protocol/reply.ts";
import { minStreamedLength } from "../../protocol/text_stream.ts";
import { chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import { authorizeAgain } from "../authorize_related.ts";
import { acceptedType } from "../http/accepted_type.ts";
import { createLink } from "../http/download_link.ts";
import { DataReply, jsonReply, LargeReply, safeNumbersReply } from "../http/json_reply.ts";
import type {
  Operation,
  OperationName,
  RecordReply,
  ResourceRequest,
  ShapedReply,
} from "../model/operation.ts";
import type { ResolvedCapabilities, Resource } from "../model/resource.ts";
import { invalidParameter, type Problem } from "../../problem/problem.ts";
import { parseFlag } from "../http/query_parameters.ts";
import { csv } from "../shape/csv.ts";
import { ndjson } from "../shape/ndjson.ts";
import { runOperation } from "../run_operation.ts";

export interface Endpoint {
  readonly name: OperationName;
  readonly takesBody: boolean;
  readonly rawTypes?: readonly string[];
  ownParameters(resource: Resource): ReadonlySet<string> | undefined;
  readonly accesses: readonly Access[];
  protection(resource: Resource): OperationProtection | undefined;
  readonly capabilities: readonly (keyof ResolvedCapabilities)[];
  /** Throws a 401 or 403 that depends on the caller alone, not on the body or on a scope. */
  requireAccess(user: User | null, resource: Resource): void;
  /** Throws if the user is not allowed to do what `request` asks for. Has no other effect. */
  authorize(request: () => ResourceRequest, user: User | null, resource: Resource): Promise<void>;
  run(request: ResourceRequest, user: User | null, resource: Resource): MaybePromise<Reply>;
  /** Runs the operation for server-side code, which receives data instead of JSON. */
  call(request: ResourceRequest, user: User | null, resource: Resource): MaybePromise<ShapedReply>;
}

export interface Route {
  readonly method: string;
  readonly path: string;
  readonly endpoint: Endpoint;
}

export interface ResourceRoute extends Route {
  readonly resource: Resource;
}

export function isRead({ method, endpoint }: Route): boolean {
  return method === "GET" || endpoint.name === "query";
}

export function endpointOf<Intent, Plan, Outcome>(
  operation: Operation<Intent, Plan, Outcome>,
  ...capabilities: Endpoint["capabilities"]
): Endpoint {
  return {
    name: operation.name,
    takesBody: operation.takesBody,
    ownParameters: operation.ownParameters ?? (() => undefined),
    accesses: [operation.access, operation.alsoAccess ?? []].flat(),
    capabilities,
    protection: ({ protections }) => protections.get(operation.access),
    requireAccess(user, resource) {
      const { policy } = resource;
      requireAccess(operation.access, user, policy);
      if (operation.alsoAccess !== undefined) requireAccess(operation.alsoAccess, user, policy);
      operation.requireFields?.(resource);
    },
    authorize: (request, user, resource) => authorizeAgain(operation, request, user, resource),
    // A long response counts against the memory limit until its client has received it.
    run: (request, user, resource) =>
      chain(
        runOperation(operation, request, user, resource),
        (shaped) =>
          chain(writeReply(shaped, request, resource), (reply) => {
            const { body } = reply;
            const { delivery } = request;
            if (delivery !== null && typeof body === "string" && body.length >= minStreamedLength) {
              resource.inflight.add(body, delivery, operation.access !== "read");
            }
            return reply;
          }),
      ),
    call: (request, user, resource) => runOperation(operation, request, user, resource),
  };
}

/** Exports rows if `format` or `Accept` names a format. `link=true` returns a link to the file. */
export function listOrExport(listing: Endpoint, exports: ReadonlyMap<string, Endpoint>): Endpoint {
  return {
    ...listing,
    run(request, user, resource) {
      const { raw } = request;
      if (!resource.capabilities.enableExport || raw === null) {
        return listing.run(request, user, resource);
      }
      const { query } = request;
      const type = typeOf(query.get("format")) ??
        acceptedType(raw, [jsonContentType, ...exports.keys()]);
      const exporting = exports.get(type);
      if (type !== csv.type && (query.has("delimiter") || query.has("bom"))) {
        throw invalid('"delimiter" or "bom" without format=csv');
      }
      // CSV does not distinguish numbers from strings, so `numbers=safe` has no effect.
      const asked = type === csv.type ? { ...request, safeNumbers: false } : request;
      if (!parseFlag(query, "link")) return (exporting ?? listing).run(asked, user, resource);
      if (exporting === undefined || !query.has("format") || query.isInBody === true) {
        throw invalid('"link" without format=csv or ndjson in the query of a URL');
      }
      // The export runs up to its first page, so that its errors are in this response.
      return chain(exporting.run(asked, user, resource), async ({ body }) => {
        if (body instanceof ReadableStream) await body.cancel();
        const { sealer, runtime: { clock } } = resource;
        const link = jsonReply(200, createLink(raw, { sealer, clock }), noStore);
        return await writeReply(link, request, resource);
      });
    },
  };
}

const noStore = { "cache-control": "no-store" };

function typeOf(format: string | undefined): string | undefined {
  if (format === undefined) return undefined;
  const types = new Map([["json", jsonContentType], ["csv", csv.type], ["ndjson", ndjson.type]]);
  const type = types.get(format);
  if (type !== undefined) return type;
  throw invalid('this "format": it must be csv, ndjson or json');
}

function invalid(use: string): Problem {
  return invalidParameter(`Cannot use ${use}`);
}

type Sending = Pick<ResourceRequest, "delivery" | "safeNumbers">;

export function createReplyRecorder(
  record: RecordReply,
  request: Sending,
  resource: Resource,
): NonNullable<ResourceRequest["record"]> {
  return async (shaped, connection) =>
    await record(await writeReply(shaped, request, resource), connection);
}

function writeReply(
  shaped: ShapedReply,
  { delivery, safeNumbers }: Sending,
  { inflight }: Resource,
): MaybePromise<Reply> {
  const given = safeNumbers ? safeNumbersReply(shaped) : shaped;
  const reply = given instanceof DataReply ? given.write() : given;
  if (!(reply instanceof LargeReply)) return reply;
  if (delivery === null) throw new Error("Only the reply to a request is written");
  return inflight.write(reply, delivery);
}

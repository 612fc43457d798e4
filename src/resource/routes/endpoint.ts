import { requireAccess } from "../../auth/authorize.ts";
import type { Access } from "../../auth/scope.ts";
import type { User } from "../../auth/user.ts";
import type { OperationProtection } from "../../guard/operation_protection.ts";
import { jsonType, type Reply } from "../../protocol/reply.ts";
import { longText } from "../../protocol/text_stream.ts";
import { type MaybePromise, then } from "../../runtime/maybe_promise.ts";
import { authorizeAgain } from "../authorize_related.ts";
import { acceptedType } from "../http/accepted_type.ts";
import { DataReply, safeReply } from "../http/json_reply.ts";
import { LargeReply } from "../http/large_reply.ts";
import type {
  Operation,
  OperationName,
  RecordReply,
  ResourceRequest,
  ShapedReply,
} from "../model/operation.ts";
import type { ResolvedCapabilities, Resource } from "../model/resource.ts";
import { csv } from "../shape/csv.ts";
import { runOperation } from "../run_operation.ts";

/** An endpoint of a resource: an operation, ready to run. */
export interface Endpoint {
  readonly name: OperationName;
  readonly takesBody: boolean;
  /** The query parameters that no other endpoint takes; undefined for none. */
  ownParameters(resource: Resource): ReadonlySet<string> | undefined;
  /** The accesses that it needs, all of them; empty for procedures, which decide by themselves. */
  readonly accesses: readonly Access[];
  /** What the guard requires of requests; undefined if nothing is. */
  protection(resource: Resource): OperationProtection | undefined;
  /** The capabilities that must all be on; empty where the endpoint always exists. */
  readonly capabilities: readonly (keyof ResolvedCapabilities)[];
  /** Throws the 401 or 403 that is certain before the body or the scope is evaluated. */
  requireAccess(user: User | null, resource: Resource): void;
  /** Throws where the user has no right to what `request` wants, and does nothing else. */
  authorize(request: () => ResourceRequest, user: User | null, resource: Resource): Promise<void>;
  run(request: ResourceRequest, user: User | null, resource: Resource): MaybePromise<Reply>;
  /** The same for code, which takes data and not their text. */
  call(request: ResourceRequest, user: User | null, resource: Resource): MaybePromise<ShapedReply>;
}

/** A route of a resource: an endpoint at its method and its path below the resource's own path. */
export interface Route {
  readonly method: string;
  /** `/`, `/count`, `/:id`, `/:id/restore`. */
  readonly path: string;
  readonly endpoint: Endpoint;
}

/** A route with the resource that it belongs to. */
export interface ResourceRoute extends Route {
  readonly resource: Resource;
}

/** Returns the endpoint of an operation, which exists if all of these capabilities are enabled. */
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
    run: (request, user, resource) =>
      then(
        runOperation(operation, request, user, resource),
        (shaped) => sendReply(shaped, operation.access, request, resource),
      ),
    call: (request, user, resource) => runOperation(operation, request, user, resource),
  };
}

/**
 * Returns an endpoint that exports rows if exports are enabled and the client prefers the media type of
 * one of them, and else lists rows.
 */
export function listOrExport(
  listing: Endpoint,
  exports: ReadonlyMap<string, Endpoint>,
): Endpoint {
  return {
    ...listing,
    run(request, user, resource) {
      const { raw } = request;
      if (!resource.capabilities.enableExport || raw === null) {
        return listing.run(request, user, resource);
      }
      const type = acceptedType(raw, [jsonType, ...exports.keys()]);
      // Only JSON has a safe form.
      const asked = type === csv.type ? { ...request, safeNumbers: false } : request;
      return (exports.get(type) ?? listing).run(asked, user, resource);
    },
  };
}

/** The parts of a request that its reply is written with. */
type Sending = Pick<ResourceRequest, "delivery" | "safeNumbers">;

/**
 * Writes the reply to a request. A long reply in one piece counts as in flight until its client has
 * received it.
 */
function sendReply(
  shaped: ShapedReply,
  access: Access,
  request: Sending,
  resource: Resource,
): MaybePromise<Reply> {
  return then(writeReply(shaped, request, resource), (reply) => {
    const { body } = reply;
    const { delivery } = request;
    if (delivery !== null && typeof body === "string" && body.length >= longText) {
      resource.sending.add(body, delivery, access !== "read");
    }
    return reply;
  });
}

/** Returns what writes the reply to a request and then stores it, in the transaction of the write. */
export function recordWritten(
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
  { sending }: Resource,
): MaybePromise<Reply> {
  const given = safeNumbers ? safeReply(shaped) : shaped;
  const reply = given instanceof DataReply ? given.write() : given;
  if (!(reply instanceof LargeReply)) return reply;
  if (delivery === null) throw new Error("Only the reply to a request is written");
  return sending.write(reply, delivery);
}

import type { User } from "../../auth/user.ts";
import type { Guard } from "../../guard/guard.ts";
import { noDebit } from "../../guard/budget/debit.ts";
import type { Reply } from "../../protocol/reply.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { passGuard } from "./pass_guard.ts";
import { type ReceivedRequest, RoutedRequest } from "./routed_request.ts";
import type { BodyLimits } from "./request_body.ts";
import type { IdempotentAnswers } from "./idempotent_answers.ts";
import type { AnswerDelivery } from "../operation.ts";
import type { Resource } from "../define/resource.ts";
import { findEndpoint } from "./routes.ts";

/** A request path and its raw query, taken from the request target once. */
export interface RequestTarget {
  /** As it came, still percent-encoded, from the first slash on. */
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
}

/** Who sends a request, as far as anybody has asked. */
export interface Caller extends AnswerDelivery {
  user(): User | null;
  /** Where its socket ends; null where the listener does not say. */
  address(): string | null;
}

/** The resources of an app, found by path. */
export interface ResourceRouter {
  /** The answer of the resource that the path leads to, or null where it leads to none. */
  answer(request: Request, target: RequestTarget, caller: Caller): Promise<Reply> | null;
}

/** What resources need of the app to answer. */
export interface ResourceRouterOptions {
  readonly limits: BodyLimits;
  readonly guard: Guard;
  /** Null where `Idempotency-Key` is not looked at. */
  readonly idempotency: IdempotentAnswers | null;
  /** How many proxies stand before the service, whose word on the client's address counts. */
  readonly trustedProxies: number;
  readonly clock: Clock;
}

/** Puts the resources at their paths. Throws a plain Error when two want the same one. */
export function createResourceRouter(
  resources: readonly Resource[],
  options: ResourceRouterOptions,
): ResourceRouter {
  const byUrl = new Map<string, Resource>();
  for (const resource of resources) {
    if (byUrl.has(resource.url)) {
      throw new Error(`Cannot serve two resources at ${resource.url}: give one a path of its own`);
    }
    byUrl.set(resource.url, resource);
  }

  return {
    answer(request, target, caller) {
      const found = find(target.path, byUrl);
      if (found === null) return null;
      return answerFrom(found.resource, found.segments, { request, target, caller });
    },
  };

  /** Not `async`: a promise that is returned through another one costs three turns of the queue. */
  function answerFrom(
    resource: Resource,
    segments: readonly string[],
    identified: ReceivedRequest,
  ): Promise<Reply> {
    const { method } = identified.request;
    const endpoint = findEndpoint(method, segments, resource);
    const match = { endpoint, resource, segments };
    const request = new RoutedRequest(identified, match, options);
    endpoint.requireAccess(request.user, resource);
    const byKey = isRead(method) ? null : options.idempotency?.find(request, resource) ?? null;
    const protection = endpoint.protection(resource);
    if (protection !== undefined) {
      return passGuard(request, { guard: options.guard, protection, byKey });
    }
    if (byKey === null) return request.run(noDebit, null);
    return byKey((record) => request.run(noDebit, record), null);
  }
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

/** A resource's path is the longest known beginning of the path that ends at a slash. */
function find(
  path: string,
  byUrl: ReadonlyMap<string, Resource>,
): { readonly resource: Resource; readonly segments: readonly string[] } | null {
  // `/x/` is `/x`.
  const end = path.length > 1 && path.endsWith("/") ? path.length - 1 : path.length;
  for (let cut = end; cut > 0; cut = path.lastIndexOf("/", cut - 1)) {
    const resource = byUrl.get(canonicalPath(path.slice(0, cut)));
    if (resource === undefined) continue;
    return { resource, segments: cut === end ? [] : path.slice(cut + 1, end).split("/") };
  }
  return null;
}

/** One spelling for a path, whatever a client chose to percent-encode. A malformed one is itself. */
function canonicalPath(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return path.split("/").map((part) => encodeURIComponent(decodeURIComponent(part))).join("/");
  } catch (error) {
    // Such a path is nobody's; what is behind a resource's own path is looked at later.
    if (error instanceof URIError) return path;
    throw error;
  }
}

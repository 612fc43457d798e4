import type { Admission } from "../../guard/admission.ts";
import { noDebit } from "../../guard/budget/debit.ts";
import type { Guard } from "../../guard/guard.ts";
import type { OperationProtection } from "../../guard/operation_protection.ts";
import type { Reply } from "../../protocol/reply.ts";
import type { Resource } from "../define/resource.ts";
import type { AnswerIdempotently, IdempotentAnswers } from "./idempotent_answers.ts";
import type { RequestTarget } from "./request_target.ts";
import {
  type Caller,
  type ReceivedRequest,
  RoutedRequest,
  type RoutedRequestOptions,
} from "./routed_request.ts";
import { findEndpoint } from "./routes.ts";

/** The router to the resources of an app: finds the one at a request's path. */
export interface ResourceRouter {
  /** The answer of the resource that the path leads to, or null where it leads to none. */
  answer(request: Request, target: RequestTarget, caller: Caller): Promise<Reply> | null;
}

/** What the router of an app's resources needs. */
export interface ResourceRouterOptions extends RoutedRequestOptions {
  readonly guard: Guard;
  /** Null where the `Idempotency-Key` header is ignored. */
  readonly idempotency: IdempotentAnswers | null;
}

/**
 * Creates the router that maps paths to the resources of an app. Throws a plain Error when two
 * resources have the same path.
 */
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
    received: ReceivedRequest,
  ): Promise<Reply> {
    const { method } = received.request;
    const endpoint = findEndpoint(method, segments, resource);
    const match = { endpoint, resource, segments };
    const request = new RoutedRequest(received, match, options);
    endpoint.requireAccess(request.user, resource);
    const key = isRead(method) ? null : received.request.headers.get("idempotency-key");
    const byKey = key === null ? null : options.idempotency?.byKey(key, request, resource) ?? null;
    const protection = endpoint.protection(resource);
    if (protection !== undefined) {
      return answerGuarded(request, { guard: options.guard, protection, byKey });
    }
    if (byKey === null) return request.run(noDebit, null);
    return byKey((record) => request.run(noDebit, record), null);
  }
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}

interface GuardedAnswer {
  readonly guard: Guard;
  readonly protection: OperationProtection;
  /** Answers by the request's `Idempotency-Key`; null where it has none. */
  readonly byKey: AnswerIdempotently | null;
}

/**
 * Answers a request once the guard admits it: counted first, then debited, then run. Awaits only
 * what is a promise: most admissions are synchronous.
 */
async function answerGuarded(
  request: RoutedRequest,
  { guard, protection, byKey }: GuardedAnswer,
): Promise<Reply> {
  const admission = guard.admission(protection, request);
  let reply: Reply;
  try {
    const entering = admission.countRequest();
    if (entering instanceof Promise) await entering;
    // An answer that was stored under the request's Idempotency-Key is counted, and costs nothing.
    reply = byKey === null
      ? await admitAndRun(request, admission)
      : await byKey((record) => request.run(admission, record), admission);
  } catch (error) {
    throw admission.finishError(error);
  }
  return admission.finishReply(reply);
}

function admitAndRun(request: RoutedRequest, admission: Admission): Promise<Reply> {
  const admitting = admission.admit();
  return admitting instanceof Promise
    ? admitting.then(() => request.run(admission, null))
    : request.run(admission, null);
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

/** One spelling for a path, whichever characters a client percent-encodes. */
function canonicalPath(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return path.split("/").map((part) => encodeURIComponent(decodeURIComponent(part))).join("/");
  } catch (error) {
    // No resource has a malformed path; the segments after a resource's path are checked later.
    if (error instanceof URIError) return path;
    throw error;
  }
}

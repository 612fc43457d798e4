import type { Admission } from "../../guard/admission.ts";
import { noDebit } from "../../guard/budget/debit.ts";
import type { Guard } from "../../guard/guard.ts";
import type { OperationProtection } from "../../guard/operation_protection.ts";
import type { Reply } from "../../protocol/reply.ts";
import { catching, chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import type { HandleIdempotently, IdempotentAnswers } from "./idempotent_request_handlers.ts";
import { isRead, type ResourceRoute } from "./endpoint.ts";
import {
  type ReceivedRequest,
  RoutedRequest,
  type RoutedRequestOptions,
} from "./routed_request.ts";

/** Handles a request at its route. Rejects with a problem, or with the error of the operation. */
export type RequestHandler = (
  route: ResourceRoute,
  received: ReceivedRequest,
) => MaybePromise<Reply>;

export interface AnswerOptions extends RoutedRequestOptions {
  readonly guard: Guard;
  /** The handler of requests with an `Idempotency-Key`, or null if the app ignores the header. */
  readonly idempotency: IdempotentAnswers | null;
}

export function createRequestHandler(options: AnswerOptions): RequestHandler {
  return function answerRequest(route, received) {
    const { endpoint, resource } = route;
    const request = new RoutedRequest(received, route, options);
    endpoint.requireAccess(request.user, resource);
    const key = isRead(route) ? null : received.request.headers.get("idempotency-key");
    const byKey = key === null ? null : options.idempotency?.byKey(key, request, resource) ?? null;
    const protection = endpoint.protection(resource);
    if (protection !== undefined) {
      return answerGuarded(request, { guard: options.guard, protection, byKey });
    }
    if (byKey === null) return request.run(noDebit, null);
    return byKey((record) => request.run(noDebit, record), null);
  };
}

/**
 * Counts a request with invalid credentials against the rate limit of its address. Resolves with
 * the headers that state the remaining limit. Throws a 429.
 */
export async function countRejectedRequest(
  route: ResourceRoute,
  received: ReceivedRequest,
  options: Pick<AnswerOptions, "guard" | keyof RoutedRequestOptions>,
): Promise<Reply["headers"]> {
  const protection = route.endpoint.protection(route.resource);
  if (protection === undefined || protection.rateLimit === null) return {};
  const request = new RoutedRequest(received, route, options);
  const admission = options.guard.admission(protection, request);
  try {
    await admission.countRequest();
  } catch (error) {
    throw admission.finishError(error);
  }
  return admission.finishReply({ status: 401, headers: {}, body: null }).headers;
}

export function haveRateLimit(routes: readonly ResourceRoute[]): boolean {
  return routes.some(({ endpoint, resource }) => {
    const protection = endpoint.protection(resource);
    return protection !== undefined && protection.rateLimit !== null;
  });
}

interface GuardedAnswer {
  readonly guard: Guard;
  readonly protection: OperationProtection;
  /** The handler for the request's `Idempotency-Key`, or null if the request has no such header. */
  readonly byKey: HandleIdempotently | null;
}

/** Handles a request: the guard counts and charges it, and then its operation runs. */
function answerGuarded(
  request: RoutedRequest,
  { guard, protection, byKey }: GuardedAnswer,
): MaybePromise<Reply> {
  const admission = guard.admission(protection, request);
  // The response to a repeated request counts as a request, but costs no budget.
  const answer = () =>
    byKey === null
      ? admitAndRun(request, admission)
      : byKey((record) => request.run(admission, record), admission);
  const replying = catching(
    () => chain(admission.countRequest(), answer),
    (error) =>
      chain(admission.returnSolution(error), () => {
        throw admission.finishError(error);
      }),
  );
  return chain(
    replying,
    (reply) => chain(admission.returnSolution(reply), () => admission.finishReply(reply)),
  );
}

function admitAndRun(request: RoutedRequest, admission: Admission): MaybePromise<Reply> {
  return chain(admission.admit(), () => request.run(admission, null));
}

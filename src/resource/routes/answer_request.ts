import type { Admission } from "../../guard/admission.ts";
import { noDebit } from "../../guard/budget/debit.ts";
import type { Guard } from "../../guard/guard.ts";
import type { OperationProtection } from "../../guard/operation_protection.ts";
import type { Reply } from "../../protocol/reply.ts";
import { type MaybePromise, recovered, then } from "../../runtime/maybe_promise.ts";
import type { AnswerIdempotently, IdempotentAnswers } from "./idempotent_answers.ts";
import type { ResourceRoute } from "./endpoint.ts";
import {
  type ReceivedRequest,
  RoutedRequest,
  type RoutedRequestOptions,
} from "./routed_request.ts";

/** Answers a request at its route. Fails with a problem, or with the error of what it runs. */
export type AnswerRequest = (
  route: ResourceRoute,
  received: ReceivedRequest,
) => MaybePromise<Reply>;

/** What requests to resources are answered with. */
export interface AnswerOptions extends RoutedRequestOptions {
  readonly guard: Guard;
  /** Null if the `Idempotency-Key` header is ignored. */
  readonly idempotency: IdempotentAnswers | null;
}

/** Makes the function that answers requests at the routes of resources. */
export function createAnswerRequest(options: AnswerOptions): AnswerRequest {
  return function answerRequest(route, received) {
    const { endpoint, resource } = route;
    const request = new RoutedRequest(received, route, options);
    endpoint.requireAccess(request.user, resource);
    const key = route.method === "GET" ? null : received.request.headers.get("idempotency-key");
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
 * Counts a request to a route that authentication refuses: it is one of its address. Resolves with
 * the headers that say what is left; throws a 429.
 */
export async function countRefused(
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

/** Returns true if any of these routes has a limit that counts requests. */
export function countsRequests(routes: readonly ResourceRoute[]): boolean {
  return routes.some(({ endpoint, resource }) => {
    const protection = endpoint.protection(resource);
    return protection !== undefined && protection.rateLimit !== null;
  });
}

interface GuardedAnswer {
  readonly guard: Guard;
  readonly protection: OperationProtection;
  /** Answers by the request's `Idempotency-Key`; null if it has none. */
  readonly byKey: AnswerIdempotently | null;
}

/** Answers a request once the guard admits it: counted first, then debited, then run. */
function answerGuarded(
  request: RoutedRequest,
  { guard, protection, byKey }: GuardedAnswer,
): MaybePromise<Reply> {
  const admission = guard.admission(protection, request);
  // An answer that was stored under the request's Idempotency-Key is counted, and costs nothing.
  const answer = () =>
    byKey === null
      ? admitAndRun(request, admission)
      : byKey((record) => request.run(admission, record), admission);
  const replying = recovered(
    () => then(admission.countRequest(), answer),
    (error) =>
      then(admission.returnSolution(error), () => {
        throw admission.finishError(error);
      }),
  );
  return then(
    replying,
    (reply) => then(admission.returnSolution(reply), () => admission.finishReply(reply)),
  );
}

function admitAndRun(request: RoutedRequest, admission: Admission): MaybePromise<Reply> {
  return then(admission.admit(), () => request.run(admission, null));
}

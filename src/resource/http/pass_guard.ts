import type { Admission } from "../../guard/admission.ts";
import type { Guard } from "../../guard/guard.ts";
import type { OperationProtection } from "../../guard/operation_protection.ts";
import type { Reply } from "../../protocol/reply.ts";
import type { IncomingRequest } from "./incoming_request.ts";
import type { AnswerIdempotently } from "./idempotent_answers.ts";

/** What stands before the operation. */
export interface GuardedEndpoint {
  readonly guard: Guard;
  readonly protection: OperationProtection;
  /** Answers by the key that the request carries; null where it has none. */
  readonly byKey: AnswerIdempotently | null;
}

/**
 * Answers a request once the guard lets it through: counted first, then paid for, then answered.
 * Waits for nothing that need not be waited for.
 */
export async function passGuard(
  request: IncomingRequest,
  { guard, protection, byKey }: GuardedEndpoint,
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

function admitAndRun(request: IncomingRequest, admission: Admission): Promise<Reply> {
  const admitting = admission.admit();
  return admitting instanceof Promise
    ? admitting.then(() => request.run(admission, null))
    : request.run(admission, null);
}

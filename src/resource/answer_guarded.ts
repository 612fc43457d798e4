import type { User } from "../auth/user.ts";
import type { Payment } from "../guard/payment.ts";
import type { Protection } from "../guard/protection.ts";
import type { Reply } from "../protocol/reply.ts";
import { parseBody, readBody } from "./body.ts";
import type { AnswerByKey } from "./keyed_answers.ts";
import type { MountOptions, Target } from "./mount.ts";
import type { RecordReply } from "./operation.ts";

/** A request to something that is protected. */
export interface GuardedRequest {
  readonly request: Request;
  readonly target: Target;
  readonly user: User | null;
  /** The client's address; null where nobody tells it. */
  address(): string | null;
}

/** What it wants to run. */
export interface GuardedWay {
  readonly takesBody: boolean;
  readonly protection: Protection;
  /** Answers by the key that the request carries; null where it has none. */
  readonly byKey: AnswerByKey | null;
  run(
    body: unknown,
    payment: Payment,
    record: RecordReply | null,
  ): Promise<Reply>;
}

/**
 * Answers a request once the guard lets it through: counted first, then paid for, then answered.
 * Waits for nothing that need not be waited for.
 */
export function answerGuarded(
  { request, target, user, address }: GuardedRequest,
  { takesBody, protection, byKey, run }: GuardedWay,
  { limits, guard, clock }: MountOptions,
): Promise<Reply> {
  let reading: Promise<Uint8Array<ArrayBuffer>> | null = null;
  const body = () =>
    reading ??= takesBody ? readBody(request, limits, clock) : Promise.resolve(new Uint8Array());
  const admission = guard.admission(protection, {
    request,
    path: target.path,
    query: target.query,
    user,
    address,
    body,
  });

  // An answer that was stored under the request's Idempotency-Key is counted, and costs nothing.
  function entered(): Promise<Reply> {
    if (byKey !== null) return body().then((bytes) => byKey(bytes, admitted, admission));
    const admitting = admission.admit();
    return admitting instanceof Promise ? admitting.then(() => admitted(null)) : admitted(null);
  }
  function admitted(record: RecordReply | null): Promise<Reply> {
    return takesBody
      ? body().then((bytes) => run(parseBody(bytes), admission, record))
      : run(undefined, admission, record);
  }
  function failed(error: unknown): never {
    throw admission.failed(error);
  }

  try {
    const entering = admission.enter();
    const answering = entering instanceof Promise ? entering.then(entered) : entered();
    return answering.then((reply) => admission.served(reply), failed);
  } catch (error) {
    return failed(error);
  }
}

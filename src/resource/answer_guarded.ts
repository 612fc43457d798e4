import type { Admission } from "../guard/admission.ts";
import type { Guard } from "../guard/guard.ts";
import type { Protection } from "../guard/protection.ts";
import type { Reply } from "../protocol/reply.ts";
import type { Arrival } from "./arrival.ts";
import type { AnswerByKey } from "./keyed_answers.ts";
import type { RecordReply } from "./operation.ts";

/** What stands before the operation. */
export interface GuardedWay {
  readonly guard: Guard;
  readonly protection: Protection;
  /** Answers by the key that the request carries; null where it has none. */
  readonly byKey: AnswerByKey | null;
}

/**
 * Answers a request once the guard lets it through: counted first, then paid for, then answered.
 * Waits for nothing that need not be waited for.
 */
export async function answerGuarded(
  arrival: Arrival,
  { guard, protection, byKey }: GuardedWay,
): Promise<Reply> {
  const admission = guard.admission(protection, arrival);
  let reply: Reply;
  try {
    const entering = admission.enter();
    if (entering instanceof Promise) await entering;
    // An answer that was stored under the request's Idempotency-Key is counted, and costs nothing.
    reply = byKey === null
      ? await payAndRun(arrival, admission, null)
      : await byKey(await arrival.body(), (record) => payAndRun(arrival, admission, record));
  } catch (error) {
    throw admission.failed(error);
  }
  return admission.served(reply);
}

function payAndRun(
  arrival: Arrival,
  admission: Admission,
  record: RecordReply | null,
): Promise<Reply> {
  const debit = (items: number) => admission.debit(items);
  const admitting = admission.admit();
  return admitting instanceof Promise
    ? admitting.then(() => arrival.run(debit, record))
    : arrival.run(debit, record);
}

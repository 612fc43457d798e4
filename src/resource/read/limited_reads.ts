import type { Connection, ReadLimits } from "../../db/driver.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { recovered } from "../../runtime/maybe_promise.ts";
import { longText } from "../../protocol/text_stream.ts";
import { addressGroup } from "../../guard/client_address.ts";
import type { ResourceCall } from "../model/operation.ts";

/**
 * The connection for the reads of a request that may look at many rows: all but a read by key. What
 * they may cost is limited by the configuration: to the bytes of an answer, unless it makes none.
 */
export function limitedReads(
  call: ResourceCall,
  maxBytes = call.resource.readCosts.maxAnswerBytes,
): Connection {
  return call.resource.driver.reads(new CallLimits(call, maxBytes));
}

/**
 * {@link limitedReads} for an answer that shows what they read, which end as soon as it could not be
 * sent any more: with a 503, since it might be sent later.
 */
export function readsToAnswer(call: ResourceCall): Connection {
  const { sending, readCosts: { maxAnswerBytes } } = call.resource;
  const { delivery } = call.request;
  const { room } = sending;
  if (delivery === null || room >= maxAnswerBytes) return limitedReads(call);
  const reads = limitedReads(call, Math.max(room, longText));
  return {
    query: (statement) =>
      recovered(() => reads.query(statement), (error) => {
        const isTooLarge = error instanceof DatabaseError && error.kind === "too-large";
        const thrown = isTooLarge ? sending.refusal(delivery.identity) : error;
        return Promise.reject(thrown);
      }),
  };
}

/**
 * The limits of the reads of one call. A class: V8 gives each object literal with getters a hidden
 * class of its own, which would keep the request in memory until the next major collection.
 */
class CallLimits implements ReadLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly #call: ResourceCall;

  constructor(call: ResourceCall, maxBytes: number) {
    this.#call = call;
    this.maxBytes = maxBytes;
    this.timeoutMs = call.resource.readCosts.queryTimeoutMs;
  }

  /** Made when reads are compared, which most never are. */
  get identity(): string {
    const { request, user } = this.#call;
    return user === null ? `a${addressGroup(request.address())}` : `u${user.id}`;
  }

  /** Made when a read takes long. */
  get signal(): AbortSignal {
    return this.#call.request.signal();
  }
}

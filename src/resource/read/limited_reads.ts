import type { Connection, ReadLimits } from "../../db/driver.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { catching } from "../../runtime/maybe_promise.ts";
import { minStreamedLength } from "../../protocol/text_stream.ts";
import { addressGroup } from "../../guard/client_address.ts";
import type { ResourceCall } from "../model/operation.ts";

/**
 * Returns the connection for reads that can examine many rows (all except reads by key). The
 * configuration limits the time of a read, and `maxBytes` its bytes (default: `maxAnswerBytes`).
 */
export function limitedReadConnection(
  call: ResourceCall,
  maxBytes = call.resource.readCosts.maxAnswerBytes,
): Connection {
  return call.resource.driver.reads(new CallLimits(call, maxBytes));
}

/** Runs `work` within the limit of concurrent reads, like {@link limitedReadConnection}. */
export function limitedWork<T>(call: ResourceCall, work: () => Promise<T>): Promise<T> {
  const { driver, readCosts } = call.resource;
  return driver.limited?.(new CallLimits(call, readCosts.maxAnswerBytes), work) ?? work();
}

/**
 * Returns {@link limitedReadConnection} for reads of rows that the response contains. If the
 * response would exceed the memory limit for undelivered responses, the reads fail with a 503.
 */
export function responseReadConnection(call: ResourceCall): Connection {
  const { inflight, readCosts: { maxAnswerBytes } } = call.resource;
  const { delivery } = call.request;
  const { room } = inflight;
  if (delivery === null || room >= maxAnswerBytes) return limitedReadConnection(call);
  const reads = limitedReadConnection(call, Math.max(room, minStreamedLength));
  return {
    query: (statement) =>
      catching(() => reads.query(statement), (error) => {
        const isTooLarge = error instanceof DatabaseError && error.kind === "too-large";
        const thrown = isTooLarge ? inflight.refusal(delivery.identity) : error;
        return Promise.reject(thrown);
      }),
  };
}

/**
 * The limits of the reads of one call. For an object literal with getters, V8 would create a hidden
 * class per call, which keeps the request in memory until a major garbage collection.
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

  /** Computed when it is needed: most reads never wait in the queue. */
  get identity(): string {
    const { request, user } = this.#call;
    return user === null ? `a${addressGroup(request.address())}` : `u${user.id}`;
  }

  /** Created when it is needed, by slow reads only. */
  get signal(): AbortSignal {
    return this.#call.request.signal();
  }
}

import type { Connection, ReadLimits } from "../../db/driver.ts";
import { DatabaseError } from "../../db/database_error.ts";
import { catching } from "../../runtime/maybe_promise.ts";
import { minStreamedLength } from "../../protocol/text_stream.ts";
import { addressGroup } from "../../guard/client_address.ts";
import type { ResourceCall } from "../model/operation.ts";

/** Returns the connection for a response's reads, with a time and a byte limit. Allows replicas. */
export function limitedReadConnection(
  call: ResourceCall,
  maxBytes = call.resource.readCosts.maxAnswerBytes,
): Connection {
  return call.resource.driver.reads(new CallLimits(call, maxBytes, true));
}

/** A {@link limitedReadConnection} without replicas, for reads that decide what a write changes. */
export function primaryReadConnection(call: ResourceCall): Connection {
  const { driver, readCosts } = call.resource;
  return driver.reads(new CallLimits(call, readCosts.maxAnswerBytes));
}

export function limitedWork<T>(call: ResourceCall, work: () => Promise<T>): Promise<T> {
  const { driver, readCosts } = call.resource;
  return driver.limited?.(new CallLimits(call, readCosts.maxAnswerBytes), work) ?? work();
}

/** Returns a connection that fails with a 503 if undelivered responses leave too little memory. */
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

/** A class: an object literal with getters stays in memory until a major garbage collection. */
class CallLimits implements ReadLimits {
  readonly maxBytes: number;
  readonly timeoutMs: number;
  readonly allowsReplica: boolean;
  readonly #call: ResourceCall;

  constructor(call: ResourceCall, maxBytes: number, allowsReplica = false) {
    this.allowsReplica = allowsReplica;
    this.#call = call;
    this.maxBytes = maxBytes;
    this.timeoutMs = call.resource.readCosts.queryTimeoutMs;
  }

  /** Computed when needed: only a read that waits in the queue has to be identified. */
  get identity(): string {
    const { request, user } = this.#call;
    return user === null ? `a${addressGroup(request.address())}` : `u${user.id}`;
  }

  get signal(): AbortSignal {
    return this.#call.request.signal();
  }
}

import { Problem } from "../../problem/problem.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { FairQueue } from "../../runtime/queues/fair_queue.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { RequestScheduler, WaitingRequest } from "./request_scheduler.ts";

/** The limit for the total bytes of the bodies of running requests. A single body may exceed it. */
const maxRunningBytes = 2 * 1024 * 1024;
/** Milliseconds for which a request counts as running. A longer request probably waits for I/O. */
const maxHeldMs = 250;
const maxWaitingBytes = 64 * 1024 * 1024;

interface Waiter {
  readonly bytes: number;
  readonly begin: () => void;
}

/** Limits concurrent large bodies, which would delay all other clients. Identities take turns. */
export class LargeBodyLimiter {
  readonly #clock: Pick<Clock, "after">;
  readonly #waiting = new FairQueue<Waiter>({ maxWaiting: Infinity });
  #runningBytes = 0;
  #waitingBytes = 0;

  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  /** Runs the work when the identity has its turn. Rejects with a 503 if too many bytes wait. */
  async run<T>(identity: string, bytes: number, work: () => MaybePromise<T>): Promise<T> {
    if (this.#waiting.size > 0 || !this.#fits(bytes)) await this.#wait(identity, bytes);
    else this.#runningBytes += bytes;
    let isHeld = true;
    const end = () => {
      if (isHeld) this.#end(bytes);
      isHeld = false;
    };
    const cancel = this.#clock.after(maxHeldMs, end);
    try {
      return await work();
    } finally {
      cancel();
      end();
    }
  }

  #fits(bytes: number): boolean {
    return this.#runningBytes === 0 || this.#runningBytes + bytes <= maxRunningBytes;
  }

  #wait(identity: string, bytes: number): Promise<void> {
    if (this.#waitingBytes + bytes > maxWaitingBytes) throw tooManyWait();
    this.#waitingBytes += bytes;
    return new Promise((begin) => this.#waiting.add(identity, { bytes, begin }));
  }

  #end(bytes: number): void {
    this.#runningBytes -= bytes;
    for (;;) {
      // Only the first request of the queue can begin: small bodies must not overtake a large one.
      let isNext = true;
      const next = this.#waiting.take((waiter) => {
        const begins = isNext && this.#fits(waiter.bytes);
        isNext = false;
        return begins;
      });
      if (next === undefined) return;
      this.#waitingBytes -= next.bytes;
      // Reserve the bytes before the work begins, so that no new request takes the capacity first.
      this.#runningBytes += next.bytes;
      next.begin();
    }
  }
}

function tooManyWait(): Problem {
  return new Problem("overloaded", "Cannot answer: too many large bodies wait for their turn", {
    headers: { "retry-after": "1" },
  });
}

export interface EventLoopLimits {
  readonly turns: RequestScheduler;
  readonly largeBodies: LargeBodyLimiter;
}

/** The size, in bytes, from which a body waits for a turn because parsing it is slow. */
export const largeBodyBytes = 32 * 1024;

export function runInTurn<Result>(
  request: WaitingRequest,
  body: Uint8Array,
  { turns, largeBodies }: EventLoopLimits,
  work: () => MaybePromise<Result>,
): MaybePromise<Result> {
  const inTurn = () => turns.run(request, work);
  return body.byteLength >= largeBodyBytes
    ? largeBodies.run(request.identity, body.byteLength, inTurn)
    : inTurn();
}

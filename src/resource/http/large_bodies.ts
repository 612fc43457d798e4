import { Problem } from "../../problem/problem.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { FairQueue } from "../../runtime/queues/fair_queue.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { FairTurns, WaitingRequest } from "./fair_turns.ts";

/** The bodies of the requests that run at the same time have no more in all, unless it is one. */
const maxRunningBytes = 2 * 1024 * 1024;
/** A request that takes longer waits for something else, and no longer keeps others waiting. */
const maxHeldMs = 250;
/** The bodies that wait, each of which is in memory. */
const maxWaitingBytes = 64 * 1024 * 1024;

interface Waiter {
  readonly bytes: number;
  readonly begin: () => void;
}

/**
 * The requests of an app that have large bodies, of which few run at a time: what a database is sent
 * and sends back for fifty of them would keep the event loop from its other sockets for tenths of a
 * second, and does not become faster by it. The identities take turns.
 */
export class LargeBodies {
  readonly #clock: Pick<Clock, "after">;
  readonly #waiting = new FairQueue<Waiter>({ maxWaiting: Infinity });
  #runningBytes = 0;
  #waitingBytes = 0;

  /** None runs. */
  constructor(clock: Pick<Clock, "after">) {
    this.#clock = clock;
  }

  /**
   * Runs the work for a body of so many bytes of an identity, when it is its turn. Rejects with a 503
   * where too many wait.
   */
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
      // The next in turn only: smaller bodies of others would pass one that does not fit for ever.
      let isNext = true;
      const next = this.#waiting.take((waiter) => {
        const begins = isNext && this.#fits(waiter.bytes);
        isNext = false;
        return begins;
      });
      if (next === undefined) return;
      this.#waitingBytes -= next.bytes;
      // Counted here, so that no newcomer takes its place before it begins.
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

/** The queues of an app in which requests wait that may keep the event loop for milliseconds. */
export interface RequestQueues {
  readonly turns: FairTurns;
  readonly largeBodies: LargeBodies;
}

/**
 * A request with a body of so many bytes takes its turn in any case: parsing the body takes as long as
 * answering a small request.
 */
export const largeBodyBytes = 32 * 1024;

/** Begins the work of a request in its turn, and that of a large body as few others run. */
export function inTurnFor<Result>(
  request: WaitingRequest,
  body: Uint8Array,
  { turns, largeBodies }: RequestQueues,
  work: () => MaybePromise<Result>,
): MaybePromise<Result> {
  const inTurn = () => turns.run(request, work);
  return body.byteLength >= largeBodyBytes
    ? largeBodies.run(request.identity, body.byteLength, inTurn)
    : inTurn();
}

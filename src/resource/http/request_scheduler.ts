import { AsyncLocalStorage } from "node:async_hooks";
import { Problem } from "../../problem/problem.ts";
import { afterPendingIo, sleep } from "../../runtime/event_loop.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { FairQueue } from "../../runtime/queues/fair_queue.ts";
import type { Clock } from "../../runtime/runtime.ts";

/** A request that may have to wait. Its members are read only if the request waits. */
export interface WaitingRequest {
  /** The user or the address that has sent the request. */
  readonly identity: string;
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
}

/** The maximum estimated duration of requests in one turn of the event loop, in milliseconds. */
const turnMs = 10;
/**
 * The limit of the total duration of short requests in one turn, in milliseconds. With a lower
 * limit, the additional turns would delay short requests more than they help.
 */
const quickTurnMs = 25;
/** The expected time of a request before any request was measured, in milliseconds. */
const unknownCostMs = 1;
/** A request of at least this duration, in milliseconds, is slow and delays other requests. */
const expensiveFromMs = 1;
/**
 * The time, in milliseconds, before the scheduler first checks if a turn has ended. A check takes a
 * tenth of a short request's time. Two slow requests take longer than these milliseconds.
 */
const unwatchedMs = 2;
const maxWaiting = 1_000;
const waitLimitMs = 10_000;
/** The wait after which a request gets an abort signal, in milliseconds. Most waits are shorter. */
const lookForClientAfterMs = 250;

interface Waiter {
  /** Begins the work of a request, or discards the work. Returns true if the work began. */
  begin(now: number): boolean;
}

/**
 * Distributes requests that may keep the event loop busy for milliseconds over the turns of the
 * event loop. Deno passes on all requests that have arrived, one after the other. Fifty requests of
 * ten milliseconds would delay every other request by half a second. Therefore a turn of the event
 * loop begins only as many requests as it has time for. The other requests wait in a queue in which
 * the identities alternate. Between two turns the event loop handles all other work. While requests
 * are short or few, no request waits.
 */
export class RequestScheduler {
  readonly #clock: Clock;
  readonly #waiting: FairQueue<Waiter> = new FairQueue<Waiter>({ maxWaiting });
  #someWait = false;
  #costMs = unknownCostMs;
  #lastMs = unknownCostMs;
  /** True while the scheduler waits until further requests may begin. */
  #isResting = false;
  #isInTurn = false;
  #beganAt = -Infinity;
  #begun = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins the work of a request in its turn. Rejects with a 503 if too many requests wait. */
  run<Result>(
    request: WaitingRequest,
    work: () => MaybePromise<Result>,
  ): MaybePromise<Result> {
    return !this.#someWait && this.#mayBegin() ? work() : this.#wait(request, work);
  }

  /** Returns true if a request may begin, and counts the request. */
  #mayBegin(): boolean {
    const now = this.#clock.elapsedMs();
    if (this.#isResting || (this.#isInTurn && this.#isSpent(now))) return false;
    if (!this.#isInTurn) {
      if (now - this.#beganAt < unwatchedMs) return true;
      this.#beginTurn(now);
    }
    this.#begun++;
    return true;
  }

  #isSpent(now: number): boolean {
    const limitMs = this.#costMs < expensiveFromMs ? quickTurnMs : turnMs;
    return now - this.#beganAt >= limitMs || this.#begun * this.#costMs >= limitMs;
  }

  #beginTurn(now: number): void {
    this.#isInTurn = true;
    this.#beganAt = now;
    this.#begun = 0;
    afterPendingIo(() => this.#endTurn());
  }

  #endTurn(): void {
    const tookMs = this.#clock.elapsedMs() - this.#beganAt;
    this.#isInTurn = false;
    if (this.#begun > 0) this.#measured(tookMs / this.#begun);
    if (this.#someWait && !this.#isResting) void this.#continue();
  }

  /** Stores the shorter of the last two durations. A pause of the process may lengthen one. */
  #measured(costMs: number): void {
    this.#costMs = Math.min(costMs, this.#lastMs);
    this.#lastMs = costMs;
  }

  /** Continues after a real timer. Only then has Deno handled all I/O (see `createYieldTurn`). */
  async #continue(): Promise<void> {
    this.#isResting = true;
    await (this.#costMs < expensiveFromMs ? new Promise<void>(afterPendingIo) : sleep(0));
    this.#isResting = false;
    while (this.#waiting.size > 0 && this.#mayBegin()) {
      if (this.#waiting.take()?.begin(this.#clock.elapsedMs()) === false) this.#begun--;
    }
    this.#someWait = this.#waiting.size > 0;
  }

  #wait<Result>(
    request: WaitingRequest,
    work: () => MaybePromise<Result>,
  ): Promise<Result> {
    const since = this.#clock.elapsedMs();
    // Another request may cause this turn, but observers must see the context of this request.
    const inContext = AsyncLocalStorage.snapshot();
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        begin: (now) => {
          const reason = this.#reasonToGiveUp(request, now - since);
          // The synchronous part of the work runs immediately. If it throws, the promise rejects.
          if (reason === null) resolve(new Promise((start) => start(inContext(work))));
          else reject(overloaded(reason));
          return reason === null;
        },
      };
      if (this.#waiting.add(request.identity, waiter)) this.#someWait = true;
      else reject(overloaded("too many requests wait for their turn"));
    });
  }

  #reasonToGiveUp(request: WaitingRequest, waitedMs: number): string | null {
    if (waitedMs < lookForClientAfterMs && this.#costMs < expensiveFromMs) return null;
    if (request.signal.aborted) return "its client has left";
    return waitedMs > waitLimitMs ? "its turn did not come in time" : null;
  }
}

function overloaded(reason: string): Problem {
  return new Problem("overloaded", `Cannot answer: ${reason}`, { headers: { "retry-after": "1" } });
}

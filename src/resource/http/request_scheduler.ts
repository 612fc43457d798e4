import { AsyncLocalStorage } from "node:async_hooks";
import { Problem } from "../../problem/problem.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { FairQueue } from "../../runtime/queues/fair_queue.ts";
import { type Clock, runAfterPendingIo, sleep } from "../../runtime/runtime.ts";

/** A request that can wait. The scheduler reads the properties only if the request waits. */
export interface WaitingRequest {
  readonly identity: string;
  readonly signal: AbortSignal;
}

/** The maximum duration of a turn of the event loop with slow requests, in milliseconds. */
const turnMs = 10;
/** The maximum duration of a turn of the event loop with short requests, in milliseconds. */
const quickTurnMs = 25;
const unknownCostMs = 1;
/** A request of at least this duration, in milliseconds, is slow: it delays other requests. */
const expensiveFromMs = 1;
/** For this many milliseconds after a turn began, requests are not counted, which saves time. */
const unwatchedMs = 2;
const maxWaiting = 1_000;
const waitLimitMs = 10_000;
const lookForClientAfterMs = 250;

interface Waiter {
  begin(now: number): boolean;
}

/**
 * Limits the requests that begin in one turn of the event loop: Deno begins all requests that have
 * arrived, so fifty slow requests would delay all other requests. Further requests wait in a queue
 * in which identities alternate, unless requests are short or few.
 */
export class RequestScheduler {
  readonly #clock: Clock;
  readonly #waiting: FairQueue<Waiter> = new FairQueue<Waiter>({ maxWaiting });
  #someWait = false;
  #costMs = unknownCostMs;
  #lastMs = unknownCostMs;
  #isResting = false;
  #isInTurn = false;
  #beganAt = -Infinity;
  #begun = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  run<Result>(request: WaitingRequest, work: () => MaybePromise<Result>): MaybePromise<Result> {
    return !this.#someWait && this.#mayBegin() ? work() : this.#wait(request, work);
  }

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
    runAfterPendingIo(() => this.#endTurn());
  }

  #endTurn(): void {
    const tookMs = this.#clock.elapsedMs() - this.#beganAt;
    this.#isInTurn = false;
    if (this.#begun > 0) this.#measured(tookMs / this.#begun);
    if (this.#someWait && !this.#isResting) void this.#continue();
  }

  /** Uses the shorter of the last two durations: a pause of the process may lengthen one. */
  #measured(costMs: number): void {
    this.#costMs = Math.min(costMs, this.#lastMs);
    this.#lastMs = costMs;
  }

  /** Begins waiting requests after pending I/O, or after a real timer if requests are slow. */
  async #continue(): Promise<void> {
    this.#isResting = true;
    await (this.#costMs < expensiveFromMs ? new Promise<void>(runAfterPendingIo) : sleep(0));
    this.#isResting = false;
    while (this.#waiting.size > 0 && this.#mayBegin()) {
      if (this.#waiting.take()?.begin(this.#clock.elapsedMs()) === false) this.#begun--;
    }
    this.#someWait = this.#waiting.size > 0;
  }

  #wait<Result>(request: WaitingRequest, work: () => MaybePromise<Result>): Promise<Result> {
    const since = this.#clock.elapsedMs();
    // `begin` may run in the context of another request, but the work must see its own context.
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

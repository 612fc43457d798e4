import { AsyncLocalStorage } from "node:async_hooks";
import { Problem } from "../../problem/problem.ts";
import { afterPendingIo, sleep } from "../../runtime/event_loop.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import { FairQueue } from "../../runtime/queues/fair_queue.ts";
import type { Clock } from "../../runtime/runtime.ts";

/** A request that may have to wait for its turn: both are made when it does, which is seldom. */
export interface WaitingRequest {
  /** The user or the address that has sent it. */
  readonly identity: string;
  /** Aborted when its client has left. */
  readonly signal: AbortSignal;
}

/** So long the requests that begin in one turn may take together, by what others took before. */
const turnMs = 10;
/** The same for requests that are short: a turn more often would cost them more than it gains. */
const quickTurnMs = 25;
/** What a request takes, as long as none has been measured. */
const unknownCostMs = 1;
/** Those that take more are not short: others would wait noticeably long for fifty of them. */
const dearMs = 1;
/**
 * So much of the time goes unwatched after a turn was begun: to learn when a turn ends costs as much
 * as a tenth of a short request, and the second of two dear ones comes later than this.
 */
const unwatchedMs = 2;
const maxWaiting = 1_000;
const waitLimitMs = 10_000;
/** To make the signal of a request costs more than most requests wait for, unless they are dear. */
const lookForClientAfterMs = 250;

interface Waiter {
  /** Begins the work, or gives it up, and gives whether it began. */
  begin(now: number): boolean;
}

/**
 * Turns of the event loop, for requests that may keep it for milliseconds. Deno passes on all
 * requests that have arrived, one after the other: fifty of ten milliseconds would delay every other
 * request by half a second. So only as many begin in one turn of the event loop as it has time for;
 * the others wait in a queue in which the identities take turns, and between two of its turns the
 * event loop handles everything else. Nothing waits as long as requests are short, or few.
 */
export class FairTurns {
  readonly #clock: Clock;
  readonly #waiting: FairQueue<Waiter> = new FairQueue<Waiter>({ maxWaiting });
  #someWait = false;
  /** What a request takes of the event loop's time. */
  #costMs = unknownCostMs;
  #lastMs = unknownCostMs;
  /** True if a turn is over that was too short for those that wait. */
  #isResting = false;
  #isInTurn = false;
  #beganAt = -Infinity;
  #begun = 0;

  /** No request waits. */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins the work of a request in its turn. Rejects with a 503 where too many wait. */
  run<Result>(
    request: WaitingRequest,
    work: () => MaybePromise<Result>,
  ): MaybePromise<Result> {
    return !this.#someWait && this.#mayBegin() ? work() : this.#wait(request, work);
  }

  /** Counts the request that begins where it may. */
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
    const limitMs = this.#costMs < dearMs ? quickTurnMs : turnMs;
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

  /** The less of two, because the process may have been paused in between. */
  #measured(costMs: number): void {
    this.#costMs = Math.min(costMs, this.#lastMs);
    this.#lastMs = costMs;
  }

  /** Only after a real timer Deno has handled all I/O (see `createYieldTurn`), which costs time. */
  async #continue(): Promise<void> {
    this.#isResting = true;
    await (this.#costMs < dearMs ? new Promise<void>(afterPendingIo) : sleep(0));
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
    // The turn is that of another request: what watches requests must know whose work this is.
    const inContext = AsyncLocalStorage.snapshot();
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        begin: (now) => {
          const reason = this.#reasonToGiveUp(request, now - since);
          // What is synchronous in the work runs at once; where it throws, the promise rejects.
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
    if (waitedMs < lookForClientAfterMs && this.#costMs < dearMs) return null;
    if (request.signal.aborted) return "its client has left";
    return waitedMs > waitLimitMs ? "its turn did not come in time" : null;
  }
}

function overloaded(reason: string): Problem {
  return new Problem("overloaded", `Cannot answer: ${reason}`, { headers: { "retry-after": "1" } });
}

import { type Deadline, deadline } from "../runtime/deadline.ts";
import type { Clock } from "../runtime/runtime.ts";
import { StoreError } from "./store_error.ts";

/** An operation that was begun. */
export interface StartedOperation {
  readonly startedAt: number;
}

/**
 * Keeps operations from a store that is silent. What was sent to one cannot be taken back: Deno's
 * client of KV Connect carries it out after the outage, however long ago its caller was refused. So
 * between two answers only some operations are sent: the others wait for the next answer, as long as
 * they may. And once an operation has waited for half a second and nothing else was answered
 * meanwhile, a read, which leaves nothing behind, has to be answered first. A store that is slow
 * delays operations; one in which an operation has missed its deadline is sent none.
 *
 * An error is an answer: a store that says no does not keep anybody waiting.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  /** A read of the store, of whatever there is. */
  readonly #probe: () => Promise<unknown>;
  /** In the order in which they were begun; those before one that was answered do not count. */
  readonly #pending = new Set<StartedOperation>();
  #answeredAt = -Infinity;
  #sentSinceAnswer = 0;
  #isOpen = false;
  /** Settles with the next answer; null while nobody waits for one. */
  #nextAnswer: PromiseWithResolvers<void> | null = null;
  #probedAt = -Infinity;
  #openProbes = 0;

  /** Asks nothing yet. */
  constructor(clock: Clock, probe: () => Promise<unknown>) {
    this.#clock = clock;
    this.#probe = probe;
  }

  /**
   * Null where an operation may be sent now; else resolves when it is to ask again. Rejects with a
   * `StoreError` where the store stays silent: then nothing was sent.
   */
  waitUntilReady(limit: Deadline): Promise<void> | null {
    const [oldest] = this.#pending;
    if (oldest === undefined) return null;
    const now = this.#clock.elapsedMs();
    const isSilent = now - oldest.startedAt >= silenceMs && now - this.#answeredAt >= silenceMs;
    if (!isSilent && this.#sentSinceAnswer < maxBetweenAnswers) return null;
    if (isSilent) this.#sendProbe(now);
    return this.#waitForAnswer(now, limit);
  }

  start(): StartedOperation {
    const begun = { startedAt: this.#clock.elapsedMs() };
    this.#pending.add(begun);
    this.#sentSinceAnswer++;
    return begun;
  }

  /** Also for an operation whose caller has gone. */
  recordAnswer(begun: StartedOperation): void {
    this.#answeredAt = this.#clock.elapsedMs();
    this.#isOpen = false;
    this.#sentSinceAnswer = 0;
    this.#nextAnswer?.resolve();
    this.#nextAnswer = null;
    if (!this.#pending.has(begun)) return;
    for (const earlier of this.#pending) {
      this.#pending.delete(earlier);
      if (earlier === begun) return;
    }
  }

  /** Its deadline is over; it may still be answered. */
  recordTimeout(begun: StartedOperation): void {
    if (this.#pending.has(begun)) this.#isOpen = true;
  }

  async #waitForAnswer(now: number, limit: Deadline): Promise<void> {
    const busyTimeoutMs = this.#isOpen ? this.#probedAt + silenceMs - now : Infinity;
    const waitMs = Math.min(busyTimeoutMs, limit.leftMs());
    if (waitMs <= 0) throw silent();
    this.#nextAnswer ??= Promise.withResolvers();
    try {
      await deadline(waitMs, this.#clock, silent).within(this.#nextAnswer.promise);
    } catch (error) {
      this.#isOpen = true;
      throw error;
    }
  }

  /** Those that stay open are answered after the outage, and say that it is over. */
  #sendProbe(now: number): void {
    const pauseMs = this.#openProbes < maxProbes ? probePauseMs : longPauseMs;
    if (now - this.#probedAt < pauseMs) return;
    this.#probedAt = now;
    this.#openProbes++;
    const begun = this.start();
    const answered = () => {
      this.#openProbes--;
      this.recordAnswer(begun);
    };
    this.#probe().then(answered, answered);
  }
}

/** So long an operation may wait before the store is asked whether it is there. */
const silenceMs = 500;

/** Of a store that answers each answer lets as many go on; of one that does not this is the loss. */
const maxBetweenAnswers = 64;

/** Between two probes, while there are few, and while there are many. */
const probePauseMs = 1_000;
const longPauseMs = 30_000;

/** Each is sent again and again by the client, for as long as the outage lasts. */
const maxProbes = 20;

function silent(): StoreError {
  return new StoreError("unavailable", new Error("The store is silent: nothing was sent"));
}

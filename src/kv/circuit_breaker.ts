import { type Deadline, deadline as createDeadline } from "../runtime/deadline.ts";
import type { Clock } from "../runtime/runtime.ts";
import { StoreError } from "./store_error.ts";

/** An operation that the circuit breaker let through to the key-value store. */
export interface StartedOperation {
  readonly startedAt: number;
}

/**
 * The circuit breaker of a key-value store: withholds operations from a store that does not answer.
 * An operation that was sent cannot be cancelled: Deno's client of KV Connect carries it out after
 * the outage, however long ago its request was refused. So only a limited number of operations is
 * sent between two answers; the others wait for the next answer until their deadline. Once an
 * operation has waited for half a second without any answer of the store, a probe, which is a read
 * and leaves no record, has to be answered first. A slow store delays operations; once an operation
 * has missed its deadline, none is sent.
 *
 * An error counts as an answer: a store that refuses does not keep requests waiting.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  /** Reads any key of the store. */
  readonly #probe: () => Promise<unknown>;
  /** Unanswered operations in the order they were sent, without those sent before an answered one. */
  readonly #pending = new Set<StartedOperation>();
  #answeredAt = -Infinity;
  #sentSinceAnswer = 0;
  #isOpen = false;
  /** Resolves with the next answer; null while no operation waits for one. */
  #nextAnswer: PromiseWithResolvers<void> | null = null;
  #probedAt = -Infinity;
  #openProbes = 0;

  /** Sends nothing yet. */
  constructor(clock: Clock, probe: () => Promise<unknown>) {
    this.#clock = clock;
    this.#probe = probe;
  }

  /**
   * Null if an operation may be sent now; else resolves when this is to be called again. Rejects
   * with a `StoreError` where the store does not answer: then the operation was not sent.
   */
  waitUntilReady(deadline: Deadline): Promise<void> | null {
    const [oldest] = this.#pending;
    if (oldest === undefined) return null;
    const now = this.#clock.elapsedMs();
    const isSilent = now - oldest.startedAt >= silenceMs && now - this.#answeredAt >= silenceMs;
    if (!isSilent && this.#sentSinceAnswer < maxBetweenAnswers) return null;
    if (isSilent) this.#sendProbe(now);
    return this.#waitForAnswer(now, deadline);
  }

  start(): StartedOperation {
    const operation = { startedAt: this.#clock.elapsedMs() };
    this.#pending.add(operation);
    this.#sentSinceAnswer++;
    return operation;
  }

  /** Also for an operation whose request was refused. */
  recordAnswer(operation: StartedOperation): void {
    this.#answeredAt = this.#clock.elapsedMs();
    this.#isOpen = false;
    this.#sentSinceAnswer = 0;
    this.#nextAnswer?.resolve();
    this.#nextAnswer = null;
    if (!this.#pending.has(operation)) return;
    for (const earlier of this.#pending) {
      this.#pending.delete(earlier);
      if (earlier === operation) return;
    }
  }

  /** The deadline of the operation has passed; it may still be answered. */
  recordTimeout(operation: StartedOperation): void {
    if (this.#pending.has(operation)) this.#isOpen = true;
  }

  async #waitForAnswer(now: number, deadline: Deadline): Promise<void> {
    const probeLeftMs = this.#isOpen ? this.#probedAt + silenceMs - now : Infinity;
    const waitMs = Math.min(probeLeftMs, deadline.leftMs());
    if (waitMs <= 0) throw silent();
    this.#nextAnswer ??= Promise.withResolvers();
    try {
      await createDeadline(waitMs, this.#clock, silent).within(this.#nextAnswer.promise);
    } catch (error) {
      this.#isOpen = true;
      throw error;
    }
  }

  /** Probes that stay open are answered after the outage, which shows that it is over. */
  #sendProbe(now: number): void {
    const pauseMs = this.#openProbes < maxProbes ? probePauseMs : longPauseMs;
    if (now - this.#probedAt < pauseMs) return;
    this.#probedAt = now;
    this.#openProbes++;
    const operation = this.start();
    const answered = () => {
      this.#openProbes--;
      this.recordAnswer(operation);
    };
    this.#probe().then(answered, answered);
  }
}

/** How long an operation waits before the store is probed. */
const silenceMs = 500;

/** Each answer lets as many operations be sent; in an outage this many are sent in vain. */
const maxBetweenAnswers = 64;

/** The time between two probes, while few are open, and while many are. */
const probePauseMs = 1_000;
const longPauseMs = 30_000;

/** Deno's client retries each of them for as long as the outage lasts. */
const maxProbes = 20;

function silent(): StoreError {
  return new StoreError("unavailable", new Error("The store is silent: nothing was sent"));
}

import { type Clock, type Deadline, deadline as createDeadline } from "../runtime/runtime.ts";
import { StoreError } from "./store_error.ts";

export interface StartedOperation {
  readonly startedAt: number;
}

/**
 * The circuit breaker of a key-value store withholds operations from a store that does not respond.
 * An operation cannot be cancelled once it was sent. Deno's client of KV Connect carries it out
 * after the outage, however long ago its request was refused. Therefore only a limited number of
 * operations is sent between two responses; the others wait for the next response until their
 * deadline. After half a second without a response of the store, a probe, which is a read without a
 * record, must succeed first. A slow store delays operations. Once an operation has missed its
 * deadline, none is sent.
 *
 * An error counts as a response: a store that refuses does not make requests wait.
 */
export class CircuitBreaker {
  readonly #clock: Clock;
  readonly #probe: () => Promise<unknown>;
  /** The operations without a response, oldest first. A response also removes all older ones. */
  readonly #pending = new Set<StartedOperation>();
  #answeredAt = -Infinity;
  #sentSinceAnswer = 0;
  #isOpen = false;
  /** Resolves at the store's next response. Null if no operation waits for it. */
  #nextAnswer: PromiseWithResolvers<void> | null = null;
  #probedAt = -Infinity;
  #openProbes = 0;

  constructor(clock: Clock, probe: () => Promise<unknown>) {
    this.#clock = clock;
    this.#probe = probe;
  }

  /**
   * Returns null if an operation may be sent now. Otherwise returns a promise, after which the
   * caller must call this function again. The promise rejects with a `StoreError` if the store does
   * not respond; the operation was then not sent.
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

  /** Records a response of the store, also one for an operation that has already been refused. */
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

  /** Records that the deadline of an operation has passed. Its response may still arrive later. */
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

  /** Sends a probe (a read without effect), which has no response until an outage ends. */
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

/** After this time without a response, in milliseconds, the store is probed. */
const silenceMs = 500;

/** How many operations are sent between two responses. In an outage, all of them fail. */
const maxBetweenAnswers = 64;

/** Milliseconds between two probes, and between two after many without a response. */
const probePauseMs = 1_000;
const longPauseMs = 30_000;

/** From this number of probes without a response, the pause is long: Deno's client retries all. */
const maxProbes = 20;

function silent(): StoreError {
  return new StoreError("unavailable", new Error("The store is silent: nothing was sent"));
}

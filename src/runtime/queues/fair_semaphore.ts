import { FairQueue } from "./fair_queue.ts";

/**
 * A semaphore whose jobs belong to identities (users or addresses), which alternate. It runs a
 * limited number of jobs at a time. A job waits for earlier jobs of its own identity, and does not
 * delay the other identities.
 */
export class FairSemaphore {
  readonly #maxRunning: number;
  readonly #waiting = new FairQueue<() => void>({ maxWaiting: Infinity });
  #running = 0;

  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  /** Runs the `work` of an identity when a slot is free. */
  async run<T>(identity: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#maxRunning) {
      // A job that ends passes its slot to the next job in the queue, not to a newcomer.
      await new Promise<void>((resolve) => this.#waiting.add(identity, resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.take();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

import { FairQueue } from "./fair_queue.ts";

/**
 * A semaphore whose jobs belong to identities, which take turns: a limited number of jobs runs at a
 * time, and those of one identity wait for its own, and not in front of the others.
 */
export class FairSemaphore {
  readonly #maxRunning: number;
  readonly #waiting = new FairQueue<() => void>({ maxWaiting: Infinity });
  #running = 0;

  /** Runs nothing yet. */
  constructor(maxRunning: number) {
    this.#maxRunning = maxRunning;
  }

  /** Runs the `work` of an identity once a slot is free. */
  async run<T>(identity: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#maxRunning) {
      // A job that ends hands its slot to the next in the queue, so that no newcomer takes it.
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

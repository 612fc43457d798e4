import { FairQueue } from "./fair_queue.ts";

/**
 * Runs a limited number of jobs at a time. Identities (users or addresses) take turns, however many
 * jobs each has. Jobs without an identity run in the order of their arrival.
 */
export class Semaphore {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #waiting = new FairQueue<() => void>({ maxWaiting: Infinity });
  #running = 0;

  constructor(maxRunning: number, maxWaiting: number = Infinity) {
    this.#maxRunning = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  get isFull(): boolean {
    return this.#waiting.size >= this.#maxWaiting;
  }

  /** True if an identity's jobs fill half of the queue. The other half is for other identities. */
  isFullFor(identity: string): boolean {
    return this.#waiting.sizeOf(identity) >= this.#maxWaiting / 2;
  }

  async run<T>(work: () => Promise<T>, identity: string = ""): Promise<T> {
    if (this.#running >= this.#maxRunning) {
      // A finished job passes its slot to the next waiting job, so that newer jobs must wait.
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

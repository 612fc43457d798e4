/** Lets a few through at a time, first come, first served: a crowd does not take the database. */
export class Semaphore {
  readonly #maxRunning: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** Nobody works yet. */
  constructor(most: number, maxWaiting: number) {
    this.#maxRunning = most;
    this.#maxWaiting = maxWaiting;
  }

  /** Whether there are too many waiting for their turn. */
  get isFull(): boolean {
    return this.#waiting.length >= this.#maxWaiting;
  }

  /** Does some work once it is let through. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#maxRunning) {
      // Whoever leaves hands its place over, so that nobody slips in between.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#running++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

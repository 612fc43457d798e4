/** Lets a few through at a time, first come, first served: a crowd does not take the database. */
export class Semaphore {
  readonly #most: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #working = 0;

  /** Nobody works yet. */
  constructor(most: number, maxWaiting: number) {
    this.#most = most;
    this.#maxWaiting = maxWaiting;
  }

  /** Whether there are too many waiting for their turn. */
  get isFull(): boolean {
    return this.#waiting.length >= this.#maxWaiting;
  }

  /** Does some work once it is let through. */
  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#working >= this.#most) {
      // Whoever leaves hands its place over, so that nobody slips in between.
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    } else this.#working++;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#working--;
      else next();
    }
  }
}

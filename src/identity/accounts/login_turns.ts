import { Problem } from "../../problem/problem.ts";
import { Semaphore } from "../../runtime/queues/semaphore.ts";

/** So many logins of an address are charged, checked and refunded at a time. */
const maxAtOnce = 4;
const maxWaiting = 128;

interface Turns {
  readonly semaphore: Semaphore;
  /** Those that run and those that wait. */
  count: number;
}

/**
 * The turns of logins: a login holds the tokens of a failure until it has succeeded, so that a whole
 * office that logs in at once would use up its address. A few at a time hold little.
 */
export class LoginTurns {
  readonly #turns = new Map<string, Turns>();

  /** Runs the login of an address in its turn. Rejects with a 503 where too many wait. */
  async run<T>(identity: string, login: () => Promise<T>): Promise<T> {
    const turns = this.#turns.get(identity) ??
      { semaphore: new Semaphore(maxAtOnce, maxWaiting), count: 0 };
    if (turns.semaphore.isFull) {
      throw new Problem(
        "overloaded",
        "Cannot log in now: too many from this address wait for that",
        {
          headers: { "retry-after": "5" },
        },
      );
    }
    this.#turns.set(identity, turns);
    turns.count++;
    try {
      return await turns.semaphore.run(login);
    } finally {
      turns.count--;
      if (turns.count === 0) this.#turns.delete(identity);
    }
  }
}

import { Problem } from "../../problem/problem.ts";
import { Semaphore } from "../../runtime/queues/semaphore.ts";

/** The maximum number of concurrent logins of an address. */
const maxAtOnce = 4;
const maxWaiting = 128;

interface Turns {
  readonly semaphore: Semaphore;
  /** The logins that hold tokens of the budget. A successful login gets its tokens back. */
  readonly running: Set<Promise<void>>;
  /** The number of running and waiting logins. */
  count: number;
}

/**
 * Limits concurrent logins from one address. Until a login succeeds, it holds as many tokens as a
 * failed login costs. Without this limit, an office in which many users log in at the same time
 * would use up the budget of its address.
 */
export class LoginLimiter {
  readonly #turns = new Map<string, Turns>();

  /**
   * Runs a login from an address when a slot is free. The login calls `hold` when it holds its
   * tokens. If the budget rejects the login, the login is retried when another login has returned
   * its tokens. Rejects with a 503 if too many logins wait.
   */
  async run<T>(identity: string, login: (hold: () => void) => Promise<T>): Promise<T> {
    const turns = this.#turns.get(identity) ??
      { semaphore: new Semaphore(maxAtOnce, maxWaiting), running: new Set(), count: 0 };
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
      const { semaphore, running } = turns;
      for (;;) {
        try {
          return await semaphore.run(() => tracked(login, running));
        } catch (error) {
          if (!isExhausted(error) || running.size === 0) throw error;
          await Promise.race(running);
        }
      }
    } finally {
      turns.count--;
      if (turns.count === 0) this.#turns.delete(identity);
    }
  }
}

function isExhausted(error: unknown): boolean {
  return error instanceof Problem && error.slug === "budget-exhausted";
}

/** Adds a login to the set as long as the login holds tokens. */
async function tracked<T>(
  login: (hold: () => void) => Promise<T>,
  running: Set<Promise<void>>,
): Promise<T> {
  const { promise, resolve } = Promise.withResolvers<void>();
  try {
    return await login(() => void running.add(promise));
  } finally {
    running.delete(promise);
    resolve();
  }
}

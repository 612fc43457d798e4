import { Problem } from "../../problem/problem.ts";
import { Semaphore } from "../../runtime/queues/semaphore.ts";

/** The maximum number of concurrent logins of an address. */
const maxAtOnce = 4;
const maxWaiting = 128;

interface Turns {
  readonly semaphore: Semaphore;
  /** The logins that hold tokens. A successful login returns its tokens. */
  readonly running: Set<Promise<void>>;
  /** The number of running and waiting logins. */
  count: number;
}

/**
 * Limits concurrent logins. A login holds the tokens of a failure until it has succeeded. If a
 * whole office logged in at the same time, its logins would use up the budget of its address. With
 * the limit, only a few logins hold tokens at a time.
 */
export class LoginTurns {
  readonly #turns = new Map<string, Turns>();

  /**
   * Runs the login of an address when a slot is free. The login calls `hold` once it holds its
   * tokens. A login that the budget rejects is retried when another login has returned its tokens.
   * Rejects with a 503 if too many logins wait.
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

/** Keeps a login in the set while it holds tokens. */
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

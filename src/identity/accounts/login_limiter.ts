import { Problem } from "../../problem/problem.ts";
import { Semaphore } from "../../runtime/queues/semaphore.ts";

/** Maximum number of logins from one address at the same time. */
const maxAtOnce = 4;
const maxWaiting = 128;

interface Turns {
  readonly semaphore: Semaphore;
  /** The logins that hold budget tokens, which they return after a success. */
  readonly running: Set<Promise<void>>;
  count: number;
}

/**
 * Limits the logins that run at the same time for one IP address. While a login runs, it holds as
 * many budget tokens as a failed login costs. Without this limit, an office whose users log in
 * together would use up the budget of its address.
 */
export class LoginLimiter {
  readonly #turns = new Map<string, Turns>();

  /**
   * Runs a login when the address has less than {@link maxAtOnce}. The login must call `hold` when
   * it holds its tokens. If the budget then refuses it, it is tried again when another login has
   * returned its tokens. Rejects with a 503 if too many logins wait.
   */
  async run<T>(identity: string, login: (hold: () => void) => Promise<T>): Promise<T> {
    const turns = this.#turns.get(identity) ??
      { semaphore: new Semaphore(maxAtOnce, maxWaiting), running: new Set(), count: 0 };
    if (turns.semaphore.isFull) {
      throw new Problem(
        "overloaded",
        "Cannot log in now: too many from this address wait for that",
        { headers: { "retry-after": "5" } },
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

/** Runs a login, which is in the set `running` while it holds tokens. */
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

import type { User } from "../auth/user.ts";
import { Problem } from "../problem/problem.ts";

/** How many streams may be open at once. */
export interface QuotaLimits {
  readonly maxPerUser: number;
  readonly maxPerAddress: number;
}

/** Counts the open streams of an app, by user and by address. */
export class Quota {
  readonly #limits: QuotaLimits;
  readonly #open = new Map<string, number>();

  /** No stream is open yet. */
  constructor(limits: QuotaLimits) {
    this.#limits = limits;
  }

  /** Takes a place for a stream, and gives what frees it. Throws a 429 where there is none. */
  take(user: User | null, address: string | null): () => void {
    // Callers whose address nobody knows share one.
    const byAddress = `address ${address ?? ""}`;
    const byUser = user === null ? null : `user ${user.id}`;
    this.#require(byAddress, this.#limits.maxPerAddress);
    if (byUser !== null) this.#require(byUser, this.#limits.maxPerUser);
    this.#add(byAddress, 1);
    if (byUser !== null) this.#add(byUser, 1);
    return () => {
      this.#add(byAddress, -1);
      if (byUser !== null) this.#add(byUser, -1);
    };
  }

  #require(key: string, most: number): void {
    if ((this.#open.get(key) ?? 0) < most) return;
    throw new Problem(
      "rate-limit-exceeded",
      `Cannot subscribe: ${most} streams are open already: close one of them`,
      { headers: { "retry-after": retryAfterSeconds, "cache-control": "no-store" } },
    );
  }

  #add(key: string, by: 1 | -1): void {
    const count = (this.#open.get(key) ?? 0) + by;
    if (count === 0) this.#open.delete(key);
    else this.#open.set(key, count);
  }
}

/** About as long as a stream that is open may take to notice that its client is gone. */
const retryAfterSeconds = "15";

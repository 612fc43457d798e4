import type { User } from "../../auth/user.ts";
import { Problem } from "../../problem/problem.ts";

/** The quota of streams: how many may be open at once, for a user and for an address. */
export interface StreamQuotaLimits {
  readonly maxPerUser: number;
  readonly maxPerAddress: number;
}

/** The counters of the quota that one open stream takes. */
export type StreamSlot = readonly Count[];

interface Count {
  readonly key: string;
  open: number;
}

/**
 * The quota of open streams of an app in this process, counted by user and by address. Streams of
 * other processes cost this one nothing, and are not counted.
 */
export class StreamQuota {
  readonly #limits: StreamQuotaLimits;
  readonly #open = new Map<string, Count>();

  /** Begins without streams. */
  constructor(limits: StreamQuotaLimits) {
    this.#limits = limits;
  }

  /** Takes a slot for a stream, to be freed once. Throws a 429 where there is none. */
  take(user: User | null, address: string | null): StreamSlot {
    const { maxPerAddress, maxPerUser } = this.#limits;
    // Callers of unknown address share one counter.
    const byAddress = this.#count(`address ${address ?? ""}`, maxPerAddress);
    const slot = user === null
      ? [byAddress]
      : [byAddress, this.#count(`user ${user.id}`, maxPerUser)];
    for (const count of slot) {
      this.#open.set(count.key, count);
      count.open++;
    }
    return slot;
  }

  /** Frees a slot that was taken. */
  free(slot: StreamSlot): void {
    for (const count of slot) {
      count.open--;
      if (count.open === 0) this.#open.delete(count.key);
    }
  }

  #count(key: string, max: number): Count {
    const count = this.#open.get(key) ?? { key, open: 0 };
    if (count.open < max) return count;
    throw new Problem(
      "rate-limit-exceeded",
      `Cannot subscribe: ${max} streams are open already: close one of them`,
      { headers: { "retry-after": retryAfterSeconds, "cache-control": "no-store" } },
    );
  }
}

/** About as long as an open stream may take to notice that its client has disconnected. */
const retryAfterSeconds = "15";

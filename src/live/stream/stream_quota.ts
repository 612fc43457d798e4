import type { User } from "../../auth/user.ts";
import { Problem } from "../../problem/problem.ts";

/** How many streams may be open at once. */
export interface StreamQuotaLimits {
  readonly maxPerUser: number;
  readonly maxPerAddress: number;
}

/** What a stream is counted at. */
export type StreamSlot = readonly Count[];

interface Count {
  readonly key: string;
  open: number;
}

/**
 * Counts the open streams of an app in this process, by user and by address. Those of other
 * processes cost this one nothing, and are not counted.
 */
export class StreamQuota {
  readonly #limits: StreamQuotaLimits;
  readonly #open = new Map<string, Count>();

  /** No stream is open yet. */
  constructor(limits: StreamQuotaLimits) {
    this.#limits = limits;
  }

  /** Takes a place for a stream, to be freed once. Throws a 429 where there is none. */
  take(user: User | null, address: string | null): StreamSlot {
    const { maxPerAddress, maxPerUser } = this.#limits;
    // Callers whose address nobody knows share one.
    const byAddress = this.#count(`address ${address ?? ""}`, maxPerAddress);
    const quotaSlot = user === null
      ? [byAddress]
      : [byAddress, this.#count(`user ${user.id}`, maxPerUser)];
    for (const count of quotaSlot) {
      this.#open.set(count.key, count);
      count.open++;
    }
    return quotaSlot;
  }

  /** Gives back a place that was taken. */
  free(quotaSlot: StreamSlot): void {
    for (const count of quotaSlot) {
      count.open--;
      if (count.open === 0) this.#open.delete(count.key);
    }
  }

  #count(key: string, most: number): Count {
    const count = this.#open.get(key) ?? { key, open: 0 };
    if (count.open < most) return count;
    throw new Problem(
      "rate-limit-exceeded",
      `Cannot subscribe: ${most} streams are open already: close one of them`,
      { headers: { "retry-after": retryAfterSeconds, "cache-control": "no-store" } },
    );
  }
}

/** About as long as a stream that is open may take to notice that its client is gone. */
const retryAfterSeconds = "15";

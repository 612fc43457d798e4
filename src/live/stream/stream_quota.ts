import type { User } from "../../auth/user.ts";
import { Problem } from "../../problem/problem.ts";

/** The quota of streams: the number of open streams for a user and for an address. */
export interface StreamQuotaLimits {
  readonly maxPerUser: number;
  readonly maxPerAddress: number;
}

export interface StreamSlot {
  readonly counts: readonly Count[];
  /** 0 for a part, because its multiplexed stream has taken a slot. 1 for every other stream. */
  readonly streams: 0 | 1;
  readonly parts: number;
  /** The estimated work of the filter for each character of a changed row. */
  readonly work: number;
}

interface Count {
  readonly key: string;
  open: number;
  parts: number;
  work: number;
}

/**
 * The quota of open streams of an app in this process, counted by user and by address. Streams of
 * other processes are not counted, because they use nothing in this process.
 */
export class StreamQuota {
  readonly #limits: StreamQuotaLimits;
  readonly #open = new Map<string, Count>();
  /** The estimated work of the filters of all open streams. */
  #work = 0;

  constructor(limits: StreamQuotaLimits) {
    this.#limits = limits;
  }

  /**
   * Takes a slot for a stream whose filter takes `work`. The slot must be freed once. Throws a 429
   * if no slot is free, and a 422 if the filters of all open streams would need too much work.
   */
  take(user: User | null, address: string | null, work: number): StreamSlot {
    return this.#take(user, address, { streams: 1, parts: 0, work });
  }

  /** Takes a slot for a multiplexed stream and its parts. Throws a 429 like {@link take}. */
  takeWhole(user: User | null, address: string | null, parts: number): StreamSlot {
    return this.#take(user, address, { streams: 1, parts, work: 0 });
  }

  /**
   * Takes a slot for a part of a multiplexed stream, which has already taken its own slot. Only the
   * work of the part's filter counts. Throws like {@link take}, except for the 429.
   */
  takePart(user: User | null, address: string | null, work: number): StreamSlot {
    return this.#take(user, address, { streams: 0, parts: 0, work });
  }

  #take(
    user: User | null,
    address: string | null,
    taken: Omit<StreamSlot, "counts">,
  ): StreamSlot {
    const { streams, parts, work } = taken;
    const { maxPerAddress, maxPerUser } = this.#limits;
    if (work > 0 && this.#work + work > maxWorkOfAll) throw tooMuchWork("all clients");
    // Callers with an unknown address share one counter.
    const byAddress = this.#count(`address ${address ?? ""}`, maxPerAddress, taken);
    const counts = user === null
      ? [byAddress]
      : [byAddress, this.#count(`user ${user.id}`, maxPerUser, taken)];
    for (const count of counts) {
      this.#open.set(count.key, count);
      count.open += streams;
      count.parts += parts;
      count.work += work;
    }
    this.#work += work;
    return { counts, ...taken };
  }

  free({ counts, streams, parts, work }: StreamSlot): void {
    this.#work -= work;
    for (const count of counts) {
      count.open -= streams;
      count.parts -= parts;
      count.work -= work;
      // The parts of a stream may end after the stream.
      if (count.open === 0 && count.work === 0) this.#open.delete(count.key);
    }
  }

  #count(key: string, max: number, taken: Omit<StreamSlot, "counts">): Count {
    const { streams, parts, work } = taken;
    const count = this.#open.get(key) ?? { key, open: 0, parts: 0, work: 0 };
    if (work > 0 && count.work + work > Math.max(maxWorkOfOne, max * workOfStream)) {
      throw tooMuchWork("this client");
    }
    if (count.open + streams > max) throw tooMany(`${max} streams are open already`);
    const maxParts = max * partsOfStream;
    // A single stream may have the maximum number of parts, independent of the limit of streams.
    if (parts > 0 && count.parts > 0 && count.parts + parts > maxParts) {
      throw tooMany(`the open streams would have more than ${maxParts} subscriptions`);
    }
    return count;
  }
}

/** The average number of parts of a multiplexed stream. More parts would delay other streams. */
const partsOfStream = 10;

function tooMany(why: string): Problem {
  return new Problem(
    "rate-limit-exceeded",
    `Cannot subscribe: ${why}: close one of them`,
    { headers: { "retry-after": retryAfterSeconds, "cache-control": "no-store" } },
  );
}

/** The time in seconds until an open stream usually notices that its client has disconnected. */
const retryAfterSeconds = "15";

/** The work limit of one user or address: two of the most expensive filters, or 200 searches. */
const maxWorkOfOne = 1_000;
/** The additional work for each allowed stream beyond the default: four text searches. */
const workOfStream = 20;
/** The limit of work for all streams in the process: two thousand text searches. */
const maxWorkOfAll = 10_000;

function tooMuchWork(whose: string): Problem {
  return new Problem(
    "query-too-expensive",
    `Cannot subscribe: the text filters of the streams of ${whose} take too long for each change. ` +
      "Close one of them, or use shorter patterns",
    { headers: { "cache-control": "no-store" } },
  );
}

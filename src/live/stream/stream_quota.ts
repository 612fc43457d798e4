import type { User } from "../../auth/authorize.ts";
import { Problem } from "../../problem/problem.ts";

export interface StreamQuotaLimits {
  readonly maxPerUser: number;
  readonly maxPerAddress: number;
}

export interface StreamSlot {
  readonly counts: readonly Count[];
  /** 0 for a part of a multiplexed stream, which has its own slot; 1 for every other stream. */
  readonly streams: 0 | 1;
  readonly parts: number;
  /** The estimated steps that the filter needs for each character of a changed row. */
  readonly work: number;
}

interface Count {
  readonly key: string;
  open: number;
  parts: number;
  work: number;
}

export class StreamQuota {
  readonly #limits: StreamQuotaLimits;
  readonly #open = new Map<string, Count>();
  #work = 0;

  constructor(limits: StreamQuotaLimits) {
    this.#limits = limits;
  }

  /** Throws a 429 if no slot is free, a 422 for too much filter work. The caller frees the slot. */
  take(user: User | null, address: string | null, taken: Omit<StreamSlot, "counts">): StreamSlot {
    const { streams, parts, work } = taken;
    const { maxPerAddress, maxPerUser } = this.#limits;
    if (work > 0 && this.#work + work > maxWorkOfAll) throw tooMuchWork("all clients");
    // All callers without a known IP address share one counter.
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
      // A multiplexed stream can free its slot before its parts, whose work still counts.
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
    // A client's first multiplexed stream may exceed `maxParts`: only the request limits its parts.
    if (parts > 0 && count.parts > 0 && count.parts + parts > maxParts) {
      throw tooMany(`the open streams would have more than ${maxParts} subscriptions`);
    }
    return count;
  }
}

/** Maximum parts for each stream that a client may open. More parts would delay other streams. */
const partsOfStream = 10;

function tooMany(why: string): Problem {
  return new Problem(
    "rate-limit-exceeded",
    `Cannot subscribe: ${why}: close one of them`,
    { headers: { "retry-after": retryAfterSeconds, "cache-control": "no-store" } },
  );
}

/** After this time in seconds, the service has usually noticed that a client is gone. */
const retryAfterSeconds = "15";

/** Filter steps per character that a client's streams may need, enough for 200 text searches. */
const maxWorkOfOne = 1_000;
/** A client may use at least this number of steps for each stream that it may open. */
const workOfStream = 20;
/** The filter steps per character of all streams in the process, enough for 2,000 text searches. */
const maxWorkOfAll = 10_000;

function tooMuchWork(whose: string): Problem {
  return new Problem(
    "query-too-expensive",
    `Cannot subscribe: the text filters of the streams of ${whose} take too long for each change. ` +
      "Close one of them, or use shorter patterns",
    { headers: { "cache-control": "no-store" } },
  );
}

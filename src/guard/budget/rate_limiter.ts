import { createHash } from "node:crypto";
import { type BoundedMap, boundedMap } from "../../runtime/bounded_map.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { type TakeResult, TokenLease } from "./token_lease.ts";
import type { BucketPolicy } from "./token_bucket.ts";
import type { BucketStore } from "./bucket_store.ts";

/**
 * One limit, for all callers, in all processes. Exact where little is left. Where there is much, a
 * process takes a small share at once and answers from it without the store and without waiting.
 */
export class RateLimiter {
  readonly limit: BucketPolicy;
  readonly #id: string;
  readonly #store: BucketStore;
  readonly #clock: Clock;
  readonly #leases: BoundedMap<string, TokenLease> = boundedMap(50_000);

  /** `id` names the limit in the store, for all processes alike. */
  constructor(id: string, limit: BucketPolicy, store: BucketStore, clock: Clock) {
    this.limit = limit;
    this.#id = id;
    this.#store = store;
    this.#clock = clock;
  }

  /** Takes tokens, all or none of them. Not a promise where nothing has to be asked. */
  take(who: string, amount: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(who).take({ amount, toFloor: false, taken: 0 });
  }

  /** Takes more beside what was `taken` before; where they are not there, that goes back as well. */
  takeMore(who: string, amount: number, taken: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(who).take({ amount, toFloor: false, taken });
  }

  /** Whether so many are refused without asking anybody. */
  isKnownShort(who: string, amount: number): boolean {
    return this.#leaseOf(who).isKnownShort(amount);
  }

  /** Takes tokens, or what is left where that is less. */
  takeToFloor(who: string, amount: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(who).take({ amount, toFloor: true, taken: 0 });
  }

  /** Gives tokens back that were taken for nothing. Never lifts what is left over the capacity. */
  refund(who: string, amount: number): TakeResult {
    return this.#leaseOf(who).refund(amount);
  }

  #leaseOf(who: string): TokenLease {
    const known = this.#leases.get(who);
    if (known !== undefined) return known;
    const lease = new TokenLease({ limit: this.limit, store: this.#store, clock: this.#clock }, [
      "limit",
      this.#id,
      shortHash(who),
    ]);
    this.#leases.set(who, lease);
    return lease;
  }
}

/** Nobody's id or address lies in the store; as JSON, lone surrogates stay what they are. */
function shortHash(who: string): string {
  return createHash("sha256").update(JSON.stringify(who)).digest("base64url").slice(0, 22);
}

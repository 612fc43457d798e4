import { createHash } from "node:crypto";
import { type BoundedMap, boundedMap } from "../../runtime/bounded_map.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { LocalTokenAllowance, type TakeResult } from "./local_token_allowance.ts";
import type { BucketPolicy } from "./token_bucket.ts";
import type { BucketStore } from "./bucket_store.ts";

/**
 * The limiter of one rate limit or budget, for all callers in all processes. It is exact when few
 * tokens remain. When many remain, a process leases a small share and grants from it immediately,
 * without the store.
 */
export class RateLimiter {
  readonly limit: BucketPolicy;
  /** Name of the limit, identical in all processes. */
  readonly id: string;
  readonly #store: BucketStore;
  readonly #clock: Clock;
  readonly #leases: BoundedMap<string, LocalTokenAllowance> = boundedMap(50_000);

  /** `id` is the name of the limit in the store, identical in all processes. */
  constructor(id: string, limit: BucketPolicy, store: BucketStore, clock: Clock) {
    this.limit = limit;
    this.id = id;
    this.#store = store;
    this.#clock = clock;
  }

  /** Takes all of the tokens or none. Returns a promise only if it must call the store. */
  take(caller: string, amount: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(caller).take({ amount, toFloor: false, taken: 0 });
  }

  /** Takes more than the `taken` tokens. If there are too few, these are returned too. */
  takeMore(caller: string, amount: number, taken: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(caller).take({ amount, toFloor: false, taken });
  }

  /** Returns true if this amount would be refused without a call of the store. */
  isKnownShort(caller: string, amount: number): boolean {
    return this.#leaseOf(caller).isKnownShort(amount);
  }

  /** Takes tokens, or the remaining tokens if these are fewer. */
  takeToFloor(caller: string, amount: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(caller).take({ amount, toFloor: true, taken: 0 });
  }

  /** Yields the callers that have spent tokens in this process, with their remaining tokens. */
  *spenders(): Iterable<{ readonly caller: string; readonly left: number }> {
    for (const [caller, lease] of this.#leases.entries()) {
      const { tokens } = lease.left();
      if (tokens < this.limit.capacity) yield { caller, left: tokens };
    }
  }

  /** Returns unused tokens. The remaining tokens never exceed the capacity. */
  refund(caller: string, amount: number): TakeResult {
    return this.#leaseOf(caller).refund(amount);
  }

  #leaseOf(caller: string): LocalTokenAllowance {
    const known = this.#leases.get(caller);
    if (known !== undefined) return known;
    const lease = new LocalTokenAllowance({
      limit: this.limit,
      store: this.#store,
      clock: this.#clock,
    }, [
      "limit",
      this.id,
      shortHash(caller),
    ]);
    this.#leases.set(caller, lease);
    return lease;
  }
}

/** Hashes a caller for the store. Unlike UTF-8, JSON distinguishes lone surrogates. */
function shortHash(caller: string): string {
  return createHash("sha256").update(JSON.stringify(caller)).digest("base64url").slice(0, 22);
}

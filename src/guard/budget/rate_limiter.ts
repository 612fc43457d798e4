import { createHash } from "node:crypto";
import { type BoundedMap, boundedMap } from "../../runtime/bounded_map.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { LocalTokenAllowance, type TakeResult } from "./local_token_allowance.ts";
import type { BucketPolicy } from "./token_bucket.ts";
import type { BucketStore } from "./bucket_store.ts";

/**
 * The limiter of one rate limit or budget, for all callers, in all processes. Exact where few
 * tokens are left. Where many are, a process leases a small share and grants from it without the
 * store and without waiting.
 */
export class RateLimiter {
  readonly limit: BucketPolicy;
  /** Names it, the same in all processes. */
  readonly id: string;
  readonly #store: BucketStore;
  readonly #clock: Clock;
  readonly #leases: BoundedMap<string, LocalTokenAllowance> = boundedMap(50_000);

  /** `id` names the limit in the store, the same in all processes. */
  constructor(id: string, limit: BucketPolicy, store: BucketStore, clock: Clock) {
    this.limit = limit;
    this.id = id;
    this.#store = store;
    this.#clock = clock;
  }

  /** Takes tokens, all or none of them. A promise only where the store has to be called. */
  take(caller: string, amount: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(caller).take({ amount, toFloor: false, taken: 0 });
  }

  /** Takes more than the `taken` tokens; where there are not enough, those are returned as well. */
  takeMore(caller: string, amount: number, taken: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(caller).take({ amount, toFloor: false, taken });
  }

  /** Returns true if so many tokens would be refused without a call of the store. */
  isKnownShort(caller: string, amount: number): boolean {
    return this.#leaseOf(caller).isKnownShort(amount);
  }

  /** Takes tokens, or what is left where that is less. */
  takeToFloor(caller: string, amount: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(caller).take({ amount, toFloor: true, taken: 0 });
  }

  /** The callers of this process that have spent something, and what is left for each. */
  *spenders(): Iterable<{ readonly caller: string; readonly left: number }> {
    for (const [caller, lease] of this.#leases.entries()) {
      const { tokens } = lease.left();
      if (tokens < this.limit.capacity) yield { caller, left: tokens };
    }
  }

  /** Returns tokens that were not used. Never raises what is left above the capacity. */
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

/** Keeps ids and addresses out of the store. JSON keeps lone surrogates apart, UTF-8 does not. */
function shortHash(caller: string): string {
  return createHash("sha256").update(JSON.stringify(caller)).digest("base64url").slice(0, 22);
}

import { createHash } from "node:crypto";
import { type BoundedMap, boundedMap } from "../../runtime/bounded_map.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { LocalTokenAllowance, type TakeResult } from "./local_token_allowance.ts";
import type { BucketPolicy } from "./token_bucket.ts";
import type { BucketStore } from "./bucket_store.ts";

/**
 * Applies one rate limit or budget to all callers in all processes. It is exact when few tokens are
 * left. When many are left, a process leases some, and takes these without the store.
 */
export class RateLimiter {
  readonly limit: BucketPolicy;
  /** Name of the limit in the store. All processes use the same name. */
  readonly id: string;
  readonly #store: BucketStore;
  readonly #clock: Clock;
  readonly #leases: BoundedMap<string, LocalTokenAllowance> = boundedMap(50_000);

  /** `id` is the limit's name in the store, which must be the same in all processes. */
  constructor(id: string, limit: BucketPolicy, store: BucketStore, clock: Clock) {
    this.limit = limit;
    this.id = id;
    this.#store = store;
    this.#clock = clock;
  }

  /** Takes `amount` tokens or none. Returns a promise only if it must call the store. */
  take(caller: string, amount: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(caller).take({ amount, toFloor: false, taken: 0 });
  }

  /** Takes more tokens for a request with `taken` tokens. If too few are left, returns all. */
  takeMore(caller: string, amount: number, taken: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(caller).take({ amount, toFloor: false, taken });
  }

  /** Returns true if `amount` tokens are certainly not left. Does not call the store. */
  isKnownShort(caller: string, amount: number): boolean {
    return this.#leaseOf(caller).isKnownShort(amount);
  }

  /** Takes `amount` tokens, or all that are left if there are fewer. */
  takeToFloor(caller: string, amount: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(caller).take({ amount, toFloor: true, taken: 0 });
  }

  /** Yields the callers that have spent tokens in this process, with the tokens that are left. */
  *spenders(): Iterable<{ readonly caller: string; readonly left: number }> {
    for (const [caller, lease] of this.#leases.entries()) {
      const { tokens } = lease.left();
      if (tokens < this.limit.capacity) yield { caller, left: tokens };
    }
  }

  /** Returns unused tokens to the caller's bucket, at most up to its capacity. */
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
    }, ["limit", this.id, shortHash(caller)]);
    this.#leases.set(caller, lease);
    return lease;
  }
}

/** Hashes a caller for a key in the store. JSON keeps lone surrogates, and UTF-8 does not. */
function shortHash(caller: string): string {
  return createHash("sha256").update(JSON.stringify(caller)).digest("base64url").slice(0, 22);
}

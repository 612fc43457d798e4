import { chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import { type BucketPolicy, roundingTolerance } from "./token_bucket.ts";
import { LocalTokenAllowance, type TakeResult } from "./local_token_allowance.ts";
import { createHash } from "node:crypto";
import { type BoundedMap, boundedMap } from "../../runtime/bounded_map.ts";
import type { Clock } from "../../runtime/runtime.ts";
import type { BucketStore } from "./bucket_store.ts";

export class RequestBudget {
  readonly #limiter: RateLimiter;
  readonly #caller: string;
  readonly #itemCost: number;
  #lastTake: TakeResult | null = null;
  #taken = 0;
  #embeddedCost = 0;
  /** Cost of all items, which can exceed the capacity of the bucket. */
  #cost = 0;
  #paid = 0;

  constructor(limiter: RateLimiter, caller: string, itemCost: number) {
    this.#limiter = limiter;
    this.#caller = caller;
    this.#itemCost = itemCost;
  }

  get lastTake(): TakeResult | null {
    return this.#lastTake;
  }

  get capacity(): number {
    return this.#limiter.limit.capacity;
  }

  /** Number of tokens still to take, never more than the bucket can contain. */
  get due(): number {
    return Math.min(this.#cost, this.capacity) - this.#taken;
  }

  /** The missing tokens, even above the capacity, so that large batches get hard challenges. */
  get deficit(): number {
    return this.#cost - this.#taken - Math.max(0, this.#lastTake?.left.tokens ?? 0);
  }

  /** Returns true if the items are paid for. All tokens of a full bucket pay for any batch. */
  covers(items: number): boolean {
    return this.#costOf(items) <= this.#paid + roundingTolerance ||
      this.#taken + roundingTolerance >= this.capacity;
  }

  setEmbeddedCost(cost: number): void {
    this.#embeddedCost = cost;
  }

  take(items: number): MaybePromise<boolean> {
    this.#cost = this.#costOf(items);
    const taking = this.#limiter.take(this.#caller, this.due, this.#taken);
    return chain(taking, (taken) => this.#record(taken));
  }

  /** Takes the tokens that are left, up to the cost. A solved challenge pays for the rest. */
  takeRest(): MaybePromise<boolean> {
    return chain(this.#limiter.takeToFloor(this.#caller, this.due), (taken) => this.#record(taken));
  }

  markPaid(): void {
    this.#paid = this.#cost;
  }

  refundExcess(items: number): void {
    const cost = this.#costOf(items);
    if (cost >= this.#paid) return;
    this.#paid = cost;
    this.#refund(this.#taken - cost);
  }

  /** Refunds all taken tokens. The part of the cost that a challenge has paid is not refunded. */
  refundAll(): void {
    this.#refund(this.#taken);
  }

  #refund(amount: number): void {
    if (amount <= 0) return;
    this.#lastTake = this.#limiter.refund(this.#caller, amount);
    this.#taken -= amount;
  }

  #costOf(items: number): number {
    return Math.max(1, items) * this.#itemCost + this.#embeddedCost;
  }

  #record(taken: TakeResult): boolean {
    this.#lastTake = taken;
    this.#taken += taken.amount;
    return taken.isGranted;
  }
}

/** Limits each caller: exactly if few tokens are left, and else by tokens leased in advance. */
export class RateLimiter {
  readonly limit: BucketPolicy;
  readonly id: string;
  readonly #store: BucketStore;
  readonly #clock: Clock;
  readonly #leases: BoundedMap<string, LocalTokenAllowance> = boundedMap(50_000);

  constructor(id: string, limit: BucketPolicy, store: BucketStore, clock: Clock) {
    this.limit = limit;
    this.id = id;
    this.#store = store;
    this.#clock = clock;
  }

  /** Takes `amount` tokens or none. If too few are left, puts back the tokens `taken` before. */
  take(caller: string, amount: number, taken = 0): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(caller).take({ amount, toFloor: false, taken });
  }

  /** Returns true if certainly fewer than `amount` tokens are left. Does not call the store. */
  isKnownShort(caller: string, amount: number): boolean {
    return this.#leaseOf(caller).isKnownShort(amount);
  }

  takeToFloor(caller: string, amount: number): TakeResult | Promise<TakeResult> {
    return this.#leaseOf(caller).take({ amount, toFloor: true, taken: 0 });
  }

  *spenders(): Iterable<{ readonly caller: string; readonly left: number }> {
    for (const [caller, lease] of this.#leases.entries()) {
      const { tokens } = lease.left();
      if (tokens < this.limit.capacity) yield { caller, left: tokens };
    }
  }

  refund(caller: string, amount: number): TakeResult {
    return this.#leaseOf(caller).refund(amount);
  }

  #leaseOf(caller: string): LocalTokenAllowance {
    const known = this.#leases.get(caller);
    if (known !== undefined) return known;
    // Unlike UTF-8, JSON keeps lone surrogates distinct.
    const hash = createHash("sha256").update(JSON.stringify(caller)).digest("base64url");
    const context = { limit: this.limit, store: this.#store, clock: this.#clock };
    const lease = new LocalTokenAllowance(context, ["limit", this.id, hash.slice(0, 22)]);
    this.#leases.set(caller, lease);
    return lease;
  }
}

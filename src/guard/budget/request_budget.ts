import { chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import type { RateLimiter } from "./rate_limiter.ts";
import { roundingTolerance } from "./token_bucket.ts";
import type { TakeResult } from "./local_token_allowance.ts";

/** The budget of one request: the tokens taken for its caller, and the paid part of its cost. */
export class RequestBudget {
  readonly #limiter: RateLimiter;
  readonly #caller: string;
  readonly #itemCost: number;
  #lastTake: TakeResult | null = null;
  /** Tokens taken from the bucket and not refunded. */
  #taken = 0;
  /** The cost of the items that belong to other resources. */
  #embeddedCost = 0;
  /** The cost of all items. It may exceed the capacity of the bucket. */
  #cost = 0;
  /** Part of the cost that is paid, by tokens or by a solved challenge. */
  #paid = 0;

  /** Takes nothing yet. `caller` names the bucket. */
  constructor(limiter: RateLimiter, caller: string, itemCost: number) {
    this.#limiter = limiter;
    this.#caller = caller;
    this.#itemCost = itemCost;
  }

  /** The last result of the limiter, for the headers; null before the first. */
  get lastTake(): TakeResult | null {
    return this.#lastTake;
  }

  get capacity(): number {
    return this.#limiter.limit.capacity;
  }

  /** The number of tokens still to take. No request takes more than its bucket can hold. */
  get due(): number {
    return Math.min(this.#cost, this.capacity) - this.#taken;
  }

  /**
   * Number of tokens that the bucket lacks for the whole cost. The cost of a batch counts in full,
   * even beyond the capacity of the bucket. Otherwise the largest batches would be the cheapest.
   */
  get deficit(): number {
    return this.#cost - this.#taken - Math.max(0, this.#lastTake?.left.tokens ?? 0);
  }

  /** Returns true if this number of items is paid for. A complete bucket pays for any number. */
  covers(items: number): boolean {
    return this.#costOf(items) <= this.#paid + roundingTolerance ||
      this.#taken + roundingTolerance >= this.capacity;
  }

  /**
   * Sets the cost of other resources' items. It is added to the cost of the request's own items.
   */
  setEmbeddedCost(cost: number): void {
    this.#embeddedCost = cost;
  }

  /**
   * Takes the missing tokens for these items. If there are too few, takes none and returns false.
   */
  take(items: number): MaybePromise<boolean> {
    this.#cost = this.#costOf(items);
    const taking = this.#limiter.takeMore(this.#caller, this.due, this.#taken);
    return chain(taking, (taken) => this.#record(taken));
  }

  /** Takes the remaining tokens up to the cost; a solved challenge pays for the rest. */
  takeRest(): MaybePromise<boolean> {
    return chain(this.#limiter.takeToFloor(this.#caller, this.due), (taken) => this.#record(taken));
  }

  markPaid(): void {
    this.#paid = this.#cost;
  }

  /** Refunds the tokens for all items beyond this number. */
  refundExcess(items: number): void {
    const cost = this.#costOf(items);
    if (cost >= this.#paid) return;
    this.#paid = cost;
    this.#refund(this.#taken - cost);
  }

  /** Refunds all tokens. A challenge took none, and is not refunded. */
  refundAll(): void {
    this.#refund(this.#taken);
  }

  #refund(amount: number): void {
    if (amount <= 0) return;
    this.#lastTake = this.#limiter.refund(this.#caller, amount);
    this.#taken -= amount;
  }

  /** Returns the cost of items. An empty batch is a request too, and costs as much as one item. */
  #costOf(items: number): number {
    return Math.max(1, items) * this.#itemCost + this.#embeddedCost;
  }

  #record(taken: TakeResult): boolean {
    this.#lastTake = taken;
    this.#taken += taken.amount;
    return taken.isGranted;
  }
}

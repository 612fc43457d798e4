import { chain, type MaybePromise } from "../../runtime/maybe_promise.ts";
import type { RateLimiter } from "./rate_limiter.ts";
import { roundingTolerance } from "./token_bucket.ts";
import type { TakeResult } from "./local_token_allowance.ts";

/** The tokens that one request has taken from the budget, and the part of its cost that is paid. */
export class RequestBudget {
  readonly #limiter: RateLimiter;
  readonly #caller: string;
  readonly #itemCost: number;
  #lastTake: TakeResult | null = null;
  /** Number of tokens that the request has taken and not given back. */
  #taken = 0;
  /** Cost of items of other resources in the body. */
  #embeddedCost = 0;
  /** Cost of all items, which can exceed the capacity of the bucket. */
  #cost = 0;
  /** The part of the cost that is paid, by tokens or by a solved challenge. */
  #paid = 0;

  constructor(limiter: RateLimiter, caller: string, itemCost: number) {
    this.#limiter = limiter;
    this.#caller = caller;
    this.#itemCost = itemCost;
  }

  /** The last result of the limiter, for headers; null before the first. */
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

  /**
   * Number of tokens that the bucket lacks for the whole cost. A batch counts in full even if it
   * exceeds the bucket's capacity: the largest batches would otherwise need the least work.
   */
  get deficit(): number {
    return this.#cost - this.#taken - Math.max(0, this.#lastTake?.left.tokens ?? 0);
  }

  /** Returns true if this number of items is paid. A full bucket pays for any number. */
  covers(items: number): boolean {
    return this.#costOf(items) <= this.#paid + roundingTolerance ||
      this.#taken + roundingTolerance >= this.capacity;
  }

  setEmbeddedCost(cost: number): void {
    this.#embeddedCost = cost;
  }

  /** Takes the missing tokens for this number of items. Returns false if too few are left. */
  take(items: number): MaybePromise<boolean> {
    this.#cost = this.#costOf(items);
    const taking = this.#limiter.takeMore(this.#caller, this.due, this.#taken);
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

  /** Refunds all tokens, but nothing of what a challenge has paid. */
  refundAll(): void {
    this.#refund(this.#taken);
  }

  #refund(amount: number): void {
    if (amount <= 0) return;
    this.#lastTake = this.#limiter.refund(this.#caller, amount);
    this.#taken -= amount;
  }

  /** Returns the cost of a number of items. An empty batch costs as much as one item. */
  #costOf(items: number): number {
    return Math.max(1, items) * this.#itemCost + this.#embeddedCost;
  }

  #record(taken: TakeResult): boolean {
    this.#lastTake = taken;
    this.#taken += taken.amount;
    return taken.isGranted;
  }
}

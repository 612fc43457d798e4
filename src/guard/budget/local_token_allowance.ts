import type { KeyValueKey } from "../../kv/key_value.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { StoreError } from "../../kv/store_error.ts";
import {
  type BucketRecord,
  type DrawRequest,
  type DrawResult,
  drawTokens,
  type TokenDemand,
} from "./draw_tokens.ts";
import { type Bucket, type BucketPolicy, fullBucket, roundingTolerance } from "./token_bucket.ts";
import type { BucketStore, LeaseHolder } from "./bucket_store.ts";

export interface TakeResult {
  readonly limit: BucketPolicy;
  readonly isGranted: boolean;
  /** Number of tokens taken; negative if tokens were returned. */
  readonly amount: number;
  readonly left: Bucket;
}

export interface TokenAllowanceOptions {
  readonly limit: BucketPolicy;
  readonly store: BucketStore;
  readonly clock: Clock;
}

/** The tokens of one caller as one process sees them: leased ones, and an estimate of the rest. */
export class LocalTokenAllowance implements LeaseHolder {
  readonly #context: TokenAllowanceOptions;
  readonly #key: KeyValueKey;
  /** The tokens that are left if no other process takes any, which is the maximum. */
  #total: Bucket;
  /** Number of leased tokens that are not spent yet. `#total` includes them. */
  #held = 0;
  /** Number of tokens in the lease at its start. */
  #share = 0;
  /** End of the lease, a monotonic time like the next two. */
  #heldUntil = 0;
  #storeCalledAt = -Infinity;
  #storeRepliedAt = -Infinity;
  /** The bucket's record as this process last read or wrote it. */
  #record: BucketRecord | null = null;
  #isLeasing = false;
  #isUsed = false;

  constructor(context: TokenAllowanceOptions, key: KeyValueKey) {
    this.#context = context;
    this.#key = key;
    this.#total = fullBucket(context.limit, context.clock.now());
  }

  take(demand: TokenDemand): TakeResult | Promise<TakeResult> {
    const { amount, toFloor, taken } = demand;
    this.#refill();
    const isThere = this.#total.tokens + roundingTolerance >= amount;
    if (isThere && this.#held + roundingTolerance >= amount && this.#now() < this.#heldUntil) {
      this.#held -= amount;
      this.#isUsed = true;
      const spent = this.#spend(amount);
      // Leases the next tokens early, so that no request waits for them.
      if (2 * this.#held < this.#share && !this.#isLeasing) void this.#prefetchShare(amount);
      return spent;
    }
    // A request that has tokens calls the store to return them, because others may need them.
    if (!toFloor && taken === 0 && this.isKnownShort(amount)) return this.#result(false, 0);
    return this.#takeFromStore(demand);
  }

  /** Returns the tokens that are left, as far as this process knows. */
  left(): Bucket {
    this.#refill();
    return this.#total;
  }

  /** Returns true if too few tokens are left, as far as this process knows, without the store. */
  isKnownShort(amount: number): boolean {
    this.#refill();
    return this.#total.tokens + roundingTolerance < amount &&
      this.#now() - this.#storeRepliedAt < memoryMs;
  }

  refund(amount: number): TakeResult {
    const { limit, store } = this.#context;
    this.#refill();
    const { tokens, at } = this.#total;
    this.#total = { tokens: Math.min(limit.capacity, tokens + amount), at };
    this.#hold(this.#held + amount, memoryMs);
    if (this.#held > 0) store.watch(this);
    return this.#result(true, -amount);
  }

  returnIdle(): boolean {
    this.#refill();
    if (this.#held <= 0) return false;
    if (this.#isUsed) {
      this.#isUsed = false;
      return true;
    }
    void this.returnAll();
    return false;
  }

  async returnAll(): Promise<void> {
    this.#refill();
    if (this.#held > 0) await this.#takeFromStore({ amount: 0, toFloor: false, taken: 0 });
  }

  #refill(): void {
    const { limit, clock } = this.#context;
    const total = limit.refill(this.#total, clock.now());
    // Leased tokens are valid only in the time window for which they were leased.
    if (!limit.isSameSpan(total, this.#total)) this.#held = 0;
    this.#total = total;
  }

  #hold(amount: number, minMs: number): void {
    this.#held = Math.min(amount, this.#total.tokens);
    this.#heldUntil = Math.max(this.#heldUntil, this.#now() + minMs);
  }

  #spend(amount: number): TakeResult {
    const { tokens, at } = this.#total;
    this.#total = { tokens: Math.max(0, tokens - amount), at };
    return this.#result(true, amount);
  }

  async #takeFromStore(demand: TokenDemand): Promise<TakeResult> {
    if (this.#context.store.isDown) return this.#takeWithoutStore(demand);
    const now = this.#now();
    // More tokens than needed are leased only for a caller with repeated requests.
    const isRegular = now - this.#storeCalledAt < memoryMs;
    this.#storeCalledAt = now;
    const shareFor = isRegular && !this.#isLeasing ? demand.amount : 0;
    const held = this.#held;
    this.#held = 0;
    try {
      const drawn = await this.#draw({ ...demand, held, kept: 0, shareFor });
      // While this request waited for the store, another one may have leased tokens.
      const whole = demand.amount + demand.taken;
      if (!drawn.isGranted && this.#held + roundingTolerance >= whole) {
        this.#held -= whole;
        this.#spend(whole);
        return this.#result(true, demand.amount);
      }
      return this.#result(drawn.isGranted, drawn.amount);
    } catch (error) {
      // The error was reported. If the store may have taken back the leased tokens, they are lost.
      if (error instanceof StoreError && error.kind === "unavailable") this.#held += held;
      return this.#takeWithoutStore(demand);
    }
  }

  /** Leases the next tokens for such requests, before the current ones are used up. */
  async #prefetchShare(amount: number): Promise<void> {
    if (this.#context.store.isDown) return;
    this.#share = 0;
    try {
      const nothing = { amount: 0, toFloor: false, taken: 0 };
      await this.#draw({ ...nothing, held: 0, kept: this.#held, shareFor: amount });
    } catch {
      // The error was reported. The next request calls the store again.
      this.#held = 0;
    }
  }

  async #draw(wanted: Omit<DrawRequest, "total" | "record">): Promise<DrawResult> {
    const { limit, store, clock } = this.#context;
    const request = { ...wanted, total: this.#total, record: this.#record };
    const isLeasing = wanted.shareFor > 0;
    if (isLeasing) this.#isLeasing = true;
    try {
      const drawn = await store.update(
        this.#key,
        (value) => drawTokens(value, request, limit, clock.now()),
      );
      this.#applyDraw(drawn);
      return drawn;
    } finally {
      if (isLeasing) this.#isLeasing = false;
    }
  }

  /**
   * Applies the result of a draw. Leased tokens count against the capacity until the bucket would
   * be full again. For a second, they can exceed the capacity by the refill of a second. Therefore
   * the requests of a caller far from the limit rarely wait for the store.
   */
  #applyDraw({ bucket, record, share }: DrawResult): void {
    const { limit, store, clock } = this.#context;
    const held = this.#held + share;
    this.#total = { tokens: Math.min(limit.capacity, bucket.tokens + held), at: bucket.at };
    this.#record = record;
    this.#storeRepliedAt = this.#now();
    if (share > 0) this.#share = held;
    if (held === 0) return;
    const fullInMs = limit.waitMs(bucket, limit.capacity, clock.now());
    this.#heldUntil = 0;
    this.#hold(held, Math.max(memoryMs, fullInMs));
    store.watch(this);
  }

  /** Takes tokens while the store fails: each process then limits its callers on its own. */
  #takeWithoutStore({ amount, toFloor, taken }: TokenDemand): TakeResult {
    this.#refill();
    this.#held = 0;
    const { tokens, at } = this.#total;
    if (toFloor) return this.#spend(Math.min(amount, tokens));
    if (tokens + roundingTolerance >= amount) return this.#spend(amount);
    this.#total = { tokens: Math.min(this.#context.limit.capacity, tokens + taken), at };
    return this.#result(false, -taken);
  }

  #result(isGranted: boolean, amount: number): TakeResult {
    return { limit: this.#context.limit, isGranted, amount, left: this.#total };
  }

  #now(): number {
    return this.#context.clock.elapsedMs();
  }
}

/** How long a result of the store is used, and leased tokens are kept, in milliseconds. */
const memoryMs = 1_000;

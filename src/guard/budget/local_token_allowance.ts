import type { KeyValueKey } from "../../kv/key_value.ts";
import type { Clock } from "../../runtime/runtime.ts";
import { StoreError } from "../../kv/store_error.ts";
import { type Bucket, type BucketPolicy, fullBucket, roundingTolerance } from "./token_bucket.ts";
import type { BucketStore, LeaseHolder } from "./bucket_store.ts";
import {
  type BucketRecord,
  type DrawRequest,
  type DrawResult,
  drawTokens,
  type TokenDemand,
} from "./draw_tokens.ts";

export interface TakeResult {
  readonly limit: BucketPolicy;
  readonly isGranted: boolean;
  readonly amount: number;
  readonly left: Bucket;
}

interface TokenAllowanceOptions {
  readonly limit: BucketPolicy;
  readonly store: BucketStore;
  readonly clock: Clock;
}

/** A caller's tokens as this process knows them: leased tokens, and an estimate of the rest. */
export class LocalTokenAllowance implements LeaseHolder {
  readonly #context: TokenAllowanceOptions;
  readonly #key: KeyValueKey;
  /** The tokens that are left if no other process takes any: an upper bound. */
  #total: Bucket;
  /** Number of leased tokens that are not spent yet. `#total` includes them. */
  #held = 0;
  /** Number of tokens spent without the store. The next draw takes them from the bucket. */
  #owed = 0;
  #share = 0;
  /** The end of the lease. This and the next two fields are times of a monotonic clock. */
  #heldUntil = 0;
  #storeCalledAt = -Infinity;
  #storeRepliedAt = -Infinity;
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
    // A refusal needs the store only if the request must return tokens that it has taken.
    if (!toFloor && taken === 0 && this.isKnownShort(amount)) return this.#result(false, 0);
    return this.#takeFromStore(demand);
  }

  left(): Bucket {
    this.#refill();
    return this.#total;
  }

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

  payIdle(): boolean {
    this.#refill();
    if (this.#isUsed && this.#held > 0 && this.#owed === 0) {
      this.#isUsed = false;
      return true;
    }
    void this.payAll();
    return this.#held + this.#owed > 0;
  }

  async payAll(): Promise<void> {
    this.#refill();
    if (this.#held + this.#owed === 0) return;
    await this.#takeFromStore({ amount: 0, toFloor: false, taken: 0 });
  }

  #refill(): void {
    const { limit, clock } = this.#context;
    const total = limit.refill(this.#total, clock.now());
    // Leased and owed tokens of an earlier time window are void.
    if (!limit.isSameSpan(total, this.#total)) this.#held = this.#owed = 0;
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
      // Another request may have leased tokens while this request waited, so these tokens are used.
      const whole = demand.amount + demand.taken;
      if (!drawn.isGranted && this.#held + roundingTolerance >= whole) {
        this.#held -= whole;
        this.#spend(whole);
        return this.#result(true, demand.amount);
      }
      return this.#result(drawn.isGranted, drawn.amount);
    } catch (error) {
      // `update` has reported the error. The leased tokens are kept only if nothing was written.
      if (error instanceof StoreError && error.kind === "unavailable") this.#held += held;
      return this.#takeWithoutStore(demand);
    }
  }

  async #prefetchShare(amount: number): Promise<void> {
    if (this.#context.store.isDown) return;
    this.#share = 0;
    const nothing = { amount: 0, toFloor: false, taken: 0 };
    const leasing = this.#draw({ ...nothing, held: 0, kept: this.#held, shareFor: amount });
    // `update` has reported an error. The tokens of the earlier lease (`kept`) are still leased.
    await leasing.catch(() => {});
  }

  async #draw(wanted: Omit<DrawRequest, "total" | "record" | "owed">): Promise<DrawResult> {
    const { limit, store, clock } = this.#context;
    const owed = this.#owed;
    const request = { ...wanted, owed, total: this.#total, record: this.#record };
    this.#owed = 0;
    const isLeasing = wanted.shareFor > 0;
    if (isLeasing) this.#isLeasing = true;
    try {
      const drawn = await store.update(
        this.#key,
        (value) => drawTokens(value, request, limit, clock.now()),
      );
      this.#applyDraw(drawn);
      return drawn;
    } catch (error) {
      // If the outcome is unknown, the caller may pay twice, but a budget is never exceeded.
      this.#owed += owed;
      throw error;
    } finally {
      if (isLeasing) this.#isLeasing = false;
    }
  }

  /**
   * Applies the result of a draw. Leased tokens are kept until the stored bucket is full again, and
   * for at least a second, so that a caller far from the limit rarely waits for the store. In this
   * second, the bucket and the lease together can exceed the capacity by one second's refill.
   */
  #applyDraw({ bucket, record, share }: DrawResult): void {
    const { limit, store, clock } = this.#context;
    const held = this.#held + share;
    const tokens = Math.min(limit.capacity, bucket.tokens + held) - this.#owed;
    this.#total = { tokens: Math.max(0, tokens), at: bucket.at };
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
    const { limit, store } = this.#context;
    this.#refill();
    const { tokens, at } = this.#total;
    const isGranted = toFloor || tokens + roundingTolerance >= amount;
    const spent = isGranted ? Math.min(amount, tokens) : -taken;
    this.#total = { tokens: Math.min(limit.capacity, tokens - spent), at };
    this.#owed += Math.max(0, spent - this.#held);
    this.#held = Math.max(0, this.#held - spent);
    if (this.#held + this.#owed > 0) store.watch(this);
    return this.#result(isGranted, isGranted && !toFloor ? amount : spent);
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

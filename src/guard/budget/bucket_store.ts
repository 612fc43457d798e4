import { deadline } from "../../runtime/deadline.ts";
import { HotKeys } from "../../kv/hot_keys.ts";
import type { KeyChange } from "../../kv/key_change.ts";
import type { KeyValue, KeyValueKey } from "../../kv/key_value.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { StoreError } from "../../kv/store_error.ts";

/** A holder of tokens leased from the bucket store, which counts leased tokens as spent. */
export interface LeaseHolder {
  /** Returns tokens that were not used since the last call. Returns false if none is held. */
  returnIdle(): boolean;
  /** Returns all tokens to the store. */
  returnAll(): Promise<void>;
}

/**
 * The store of the buckets of rate limits, on the key-value store. The bucket store groups changes,
 * has a timeout, and does not wait for a key-value store that has just failed. Unused leased tokens
 * are returned within two seconds.
 */
export class BucketStore {
  readonly #hotKeys: HotKeys;
  readonly #runtime: Runtime;
  readonly #holders = new Set<LeaseHolder>();
  #cancelTimer: (() => void) | null = null;
  #downUntil = -Infinity;
  #isClosed = false;

  /** Starts nothing before the first change. */
  constructor(store: KeyValue, runtime: Runtime) {
    this.#hotKeys = new HotKeys(store, runtime);
    this.#runtime = runtime;
  }

  /** True for one second after a failure of the store. */
  get isDown(): boolean {
    return this.#runtime.clock.elapsedMs() < this.#downUntil;
  }

  /** Changes one record. Rejects if the store fails, and observes the failure. */
  async update<T>(key: KeyValueKey, change: (value: unknown) => KeyChange<T>): Promise<T> {
    const { clock, observe } = this.#runtime;
    // A custom store may have no timeout.
    const limit = deadline(
      timeoutMs,
      clock,
      () => new StoreError("unknown-outcome", new Error(`No answer within ${timeoutMs} ms`)),
    );
    try {
      return await limit.within(this.#hotKeys.update(key, change));
    } catch (error) {
      if (!this.isDown) observe({ kind: "limits_unshared", error });
      this.#downUntil = clock.elapsedMs() + pauseMs;
      throw error;
    }
  }

  /** Makes a holder return its idle tokens regularly, until it holds none. */
  watch(holder: LeaseHolder): void {
    this.#holders.add(holder);
    this.#schedule();
  }

  /** Returns all leased tokens. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    const holders = [...this.#holders];
    this.#holders.clear();
    await Promise.all(holders.map((holder) => holder.returnAll()));
  }

  #schedule(): void {
    if (this.#cancelTimer !== null || this.#isClosed) return;
    this.#cancelTimer = this.#runtime.clock.after(pauseMs, () => {
      this.#cancelTimer = null;
      for (const holder of this.#holders) {
        if (!holder.returnIdle()) this.#holders.delete(holder);
      }
      if (this.#holders.size > 0) this.#schedule();
    });
  }
}

/** Time that a request waits for the store before it is decided without it, in milliseconds. */
const timeoutMs = 3_000;

/** Pause after a failure of the store, and retention of unused tokens, in milliseconds. */
const pauseMs = 1_000;

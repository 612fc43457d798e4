import { HotKeys } from "../../kv/hot_keys.ts";
import type { KeyChange } from "../../kv/key_change.ts";
import type { KeyValue, KeyValueKey } from "../../kv/key_value.ts";
import { deadline, type Runtime } from "../../runtime/runtime.ts";
import { StoreError } from "../../kv/store_error.ts";

/**
 * An object with tokens that this process has taken from the store in advance (leased), or that it
 * has spent while the store failed, and owes to the store.
 */
export interface LeaseHolder {
  /**
   * Pays owed tokens, and puts leased tokens back unless some were spent lately. Returns true if
   * tokens stay leased or owed.
   */
  payIdle(): boolean;
  payAll(): Promise<void>;
}

/** Calls the store, but not in the second after a failure. Returns unused leased tokens. */
export class BucketStore {
  readonly #hotKeys: HotKeys;
  readonly #runtime: Runtime;
  readonly #holders = new Set<LeaseHolder>();
  #cancelTimer: (() => void) | null = null;
  #downUntil = -Infinity;
  #hasFailed = false;
  #isClosed = false;

  constructor(store: KeyValue, runtime: Runtime) {
    this.#hotKeys = new HotKeys(store, runtime);
    this.#runtime = runtime;
  }

  get isDown(): boolean {
    return this.#runtime.clock.elapsedMs() < this.#downUntil;
  }

  async update<T>(key: KeyValueKey, change: (value: unknown) => KeyChange<T>): Promise<T> {
    const { clock, observe } = this.#runtime;
    // A store from the deployer may have no timeout, so each call has a deadline.
    const limit = deadline(
      timeoutMs,
      clock,
      () => new StoreError("unknown-outcome", new Error(`No answer within ${timeoutMs} ms`)),
    );
    try {
      const result = await limit.within(this.#hotKeys.update(key, change));
      this.#hasFailed = false;
      return result;
    } catch (error) {
      if (!this.isDown) observe({ kind: "limits_unshared", error });
      this.#downUntil = clock.elapsedMs() + pauseMs;
      this.#hasFailed = true;
      throw error;
    }
  }

  watch(holder: LeaseHolder): void {
    this.#holders.add(holder);
    this.#schedule();
  }

  /** Returns all leased tokens to the store, and pays all owed tokens. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    const holders = [...this.#holders];
    this.#holders.clear();
    await Promise.all(holders.map((holder) => holder.payAll()));
  }

  #schedule(): void {
    if (this.#cancelTimer !== null || this.#isClosed) return;
    this.#cancelTimer = this.#runtime.clock.after(pauseMs, () => {
      this.#cancelTimer = null;
      for (const holder of this.#holders) {
        if (!holder.payIdle()) this.#holders.delete(holder);
        // After a failure, one call finds out if the store responds again.
        if (this.#hasFailed) break;
      }
      if (this.#holders.size > 0) this.#schedule();
    });
  }
}

/** How long a request waits for the store before this process decides alone, in milliseconds. */
const timeoutMs = 3_000;

/** How long calls pause after a failure, and how often unused tokens are returned, in ms. */
const pauseMs = 1_000;

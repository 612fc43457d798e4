import { deadline } from "../../runtime/deadline.ts";
import { HotKeys, type KeyChange } from "../../kv/hot_keys.ts";
import type { KeyValue, KeyValueKey } from "../../kv/key_value.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { StoreError } from "../../kv/store_error.ts";

/** Somebody who holds tokens that the store does not know to be unspent. */
export interface LeaseHolder {
  /** Puts them back where they were not used lately; false once nothing is held. */
  returnIdle(): boolean;
  /** Puts all of them back. */
  returnAll(): Promise<void>;
}

/**
 * The store as limits use it: changes in groups, an end to waiting, and no waiting at all for a
 * store that has just failed. Tokens that are held and not used go back within two seconds.
 */
export class BucketStore {
  readonly #hot: HotKeys;
  readonly #runtime: Runtime;
  readonly #holders = new Set<LeaseHolder>();
  #cancelTimer: (() => void) | null = null;
  #downUntil = -Infinity;
  #isClosed = false;

  /** Begins nothing before the first change. */
  constructor(store: KeyValue, runtime: Runtime) {
    this.#hot = new HotKeys(store, runtime);
    this.#runtime = runtime;
  }

  /** True for a second after it failed. */
  get isDown(): boolean {
    return this.#runtime.clock.elapsedMs() < this.#downUntil;
  }

  /** Changes one record. Rejects when the store fails, and says so to the observer. */
  async update<T>(key: KeyValueKey, change: (value: unknown) => KeyChange<T>): Promise<T> {
    const { clock, observe } = this.#runtime;
    // A store of somebody's own may have no limit of its own.
    const limit = deadline(
      busyTimeoutMs,
      clock,
      () => new StoreError("unknown-outcome", new Error(`No answer within ${busyTimeoutMs} ms`)),
    );
    try {
      return await limit.within(this.#hot.update(key, change));
    } catch (error) {
      if (!this.isDown) observe({ kind: "limits_unshared", error });
      this.#downUntil = clock.elapsedMs() + pauseMs;
      throw error;
    }
  }

  /** Looks after tokens that are held until they are spent or back. */
  watch(holder: LeaseHolder): void {
    this.#holders.add(holder);
    this.#schedule();
  }

  /** Puts back whatever is held. */
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

/** How long a request may wait for the store before it is judged without. */
const busyTimeoutMs = 3_000;

/** How long nobody asks a store that failed, and how long unused tokens are held. */
const pauseMs = 1_000;

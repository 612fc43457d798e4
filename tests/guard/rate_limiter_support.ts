import {
  type BucketPolicy,
  fixedWindowPolicy,
  tokenBucketPolicy,
} from "../../src/guard/budget/token_bucket.ts";
import { BucketStore } from "../../src/guard/budget/bucket_store.ts";
import type { TakeResult } from "../../src/guard/budget/local_token_allowance.ts";
import { RateLimiter } from "../../src/guard/budget/request_budget.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import { createMemoryKeyValue } from "../../src/kv/memory_key_value.ts";
import { type Observation, runAfterPendingIo, type Runtime } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";

/** A world whose time is moved by hand, with one store that counts its calls. */
export interface LimitWorld {
  readonly runtime: Runtime;
  readonly observations: readonly Observation[];
  readonly store: KeyValue;
  /** How often the store was read for a commit. */
  readonly trips: () => number;
  /** Moves time, once no work is pending, and runs the work that it starts. */
  advance(ms: number): Promise<void>;
  /** Moves the wall clock alone. */
  jump(ms: number): Promise<void>;
  /** A process that applies the limit. */
  process(limit: BucketPolicy, store?: KeyValue): LimitProcess;
}

export interface LimitProcess {
  readonly limiter: RateLimiter;
  readonly limits: BucketStore;
  /** How many of so many attempts, one after the other, were granted. */
  granted(attempts: number, amount?: number): Promise<number>;
}

/** Makes a {@link LimitWorld}; its wall clock starts well after 1970. */
export function limitWorld(): LimitWorld {
  const { clock, advance } = handClock();
  let offset = 1_800_000_000_000;
  let trips = 0;
  const observations: Observation[] = [];
  const runtime: Runtime = {
    ...systemRuntime((observation) => observations.push(observation)),
    clock: { ...clock, now: () => clock.now() + offset },
  };
  const memory = createMemoryKeyValue(runtime.clock);
  const store: KeyValue = {
    ...memory,
    getMany(keys) {
      trips++;
      return memory.getMany(keys);
    },
  };
  return {
    runtime,
    observations,
    store,
    trips: () => trips,
    async advance(ms) {
      await drainEvents();
      advance(ms);
      await drainEvents();
    },
    async jump(ms) {
      await drainEvents();
      offset += ms;
    },
    process(limit, own = store) {
      const limits = new BucketStore(own, runtime);
      const limiter = new RateLimiter("test", limit, limits, runtime.clock);
      return {
        limiter,
        limits,
        async granted(attempts, amount = 1) {
          let granted = 0;
          for (let n = 0; n < attempts; n++) {
            const taken: TakeResult = await limiter.take("ann", amount);
            if (taken.isGranted) granted++;
          }
          return granted;
        },
      };
    },
  };
}

async function drainEvents(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise<void>(runAfterPendingIo);
}

/** A budget that is refilled `perSecond`. */
export function bucket(capacity: number, perSecond = 0): BucketPolicy {
  return tokenBucketPolicy("budget", { capacity, refillPerMinute: perSecond * 60 });
}

/** So many in a window of a minute. */
export function window(maxRequests: number): BucketPolicy {
  return fixedWindowPolicy("requests", { windowMs: 60_000, maxRequests });
}

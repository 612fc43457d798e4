import { HotKeys } from "../../kv/hot_keys.ts";
import type { KeyValue, KeyValueKey } from "../../kv/key_value.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { hashOfToken } from "../opaque_token.ts";
import { hasMemberTypes } from "./account.ts";

interface Count {
  readonly count: number;
  /** The start of the counted hour, in milliseconds since 1970. */
  readonly beganAt: number;
}

/**
 * Counts events in the key-value store, by subject and for all processes together. An hour begins
 * with the first event. Rejects with a `StoreError` if the store fails.
 */
export class HourlyCounters {
  readonly #store: KeyValue;
  readonly #runtime: Pick<Runtime, "clock" | "random">;
  readonly #hotKeys: HotKeys;

  constructor(store: KeyValue, runtime: Pick<Runtime, "clock" | "random">) {
    this.#store = store;
    this.#runtime = runtime;
    this.#hotKeys = new HotKeys(store, runtime);
  }

  add(event: string, subject: string): Promise<number> {
    const now = this.#runtime.clock.now();
    return this.#hotKeys.update(keyOf(event, subject), (value) => {
      const { count, beganAt } = current(value, now);
      const next = { count: count + 1, beganAt };
      return {
        result: next.count,
        record: { value: next, expireInMs: Math.max(1, Math.ceil(beganAt + hourMs - now)) },
      };
    });
  }

  async read(event: string, subjects: readonly string[]): Promise<readonly number[]> {
    const now = this.#runtime.clock.now();
    const entries = await this.#store.getMany(subjects.map((one) => keyOf(event, one)));
    return entries.map(({ value }) => current(value, now).count);
  }
}

const hourMs = 3_600_000;

/** Returns the count; 0 if its hour is over but still stored. */
function current(value: unknown, now: number): Count {
  return isCount(value) && now < value.beganAt + hourMs && now >= value.beganAt
    ? value
    : { count: 0, beganAt: now };
}

function isCount(value: unknown): value is Count {
  return hasMemberTypes(value, { count: "number", beganAt: "number" });
}

/** Returns a key with a hash, so that the store contains no addresses and no names. */
function keyOf(event: string, subject: string): KeyValueKey {
  return ["hourly", event, hashOfToken(JSON.stringify(subject)).slice(0, 22)];
}

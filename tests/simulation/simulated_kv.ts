import { deserialize, serialize } from "node:v8";
import { encodeKey, encodePrefix } from "../../src/kv/key_encoding.ts";
import type { DenoKv, DenoKvAtomic, DenoKvEntry } from "../../src/kv/deno_kv.ts";
import type { KeyValueKey } from "../../src/kv/key_value.ts";
import type { Scheduler } from "./scheduler.ts";

interface KvRecord {
  readonly key: KeyValueKey;
  readonly bytes: Uint8Array;
  readonly versionstamp: string;
}

type Change = (records: Map<string, KvRecord>, versionstamp: string) => void;

/** The records that all simulated processes share. */
export class SimulatedKv {
  readonly #records = new Map<string, KvRecord>();
  readonly #scheduler: Scheduler;
  #commits = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** Opens the store for one process. Each call has a step before and after it, and can fail. */
  open(name: string): DenoKv {
    const run = <T>(what: string, work: () => T) => this.#run(`${name}: ${what}`, work);
    const { list } = this;
    return {
      get: (key) => run("get", () => this.#entry(key)),
      getMany: (keys) => run("getMany", () => keys.map((key) => this.#entry(key))),
      async *list(selector, { reverse }) {
        yield* await run("list", () => list(selector.prefix, selector, reverse));
      },
      atomic: () => this.#atomic((work) => run("commit", work)),
      close() {},
    };
  }

  readonly list = (
    prefix: KeyValueKey,
    { start, end }: { readonly start?: KeyValueKey; readonly end?: KeyValueKey },
    reverse: boolean,
  ): readonly DenoKvEntry[] => {
    const below = encodePrefix(prefix);
    const keys = [...this.#records.keys()].filter((key) =>
      key !== below && key.startsWith(below) && (start === undefined || key >= encodeKey(start)) &&
      (end === undefined || key < encodeKey(end))
    ).toSorted();
    return (reverse ? keys.toReversed() : keys).flatMap((key) => {
      const record = this.#records.get(key);
      return record === undefined ? [] : [this.#entry(record.key)];
    });
  };

  #entry(key: KeyValueKey): DenoKvEntry {
    const record = this.#records.get(encodeKey(key));
    if (record === undefined) return { key, value: null, versionstamp: null };
    return { key, value: deserialize(record.bytes), versionstamp: record.versionstamp };
  }

  #atomic(run: <T>(work: () => T) => Promise<T>): DenoKvAtomic {
    const checks: { readonly key: KeyValueKey; readonly versionstamp: string | null }[] = [];
    const changes: Change[] = [];
    const atomic: DenoKvAtomic = {
      check(...more) {
        checks.push(...more);
        return atomic;
      },
      set(key, value) {
        const bytes = serialize(value);
        changes.push((records, versionstamp) =>
          records.set(encodeKey(key), { key, bytes, versionstamp })
        );
        return atomic;
      },
      delete(key) {
        changes.push((records) => records.delete(encodeKey(key)));
        return atomic;
      },
      commit: () => run(() => this.#commit(checks, changes)),
    };
    return atomic;
  }

  #commit(
    checks: readonly { readonly key: KeyValueKey; readonly versionstamp: string | null }[],
    changes: readonly Change[],
  ): { readonly ok: true; readonly versionstamp: string } | { readonly ok: false } {
    const isMet = checks.every(({ key, versionstamp }) =>
      (this.#records.get(encodeKey(key))?.versionstamp ?? null) === versionstamp
    );
    if (!isMet) return { ok: false };
    const versionstamp = String(++this.#commits).padStart(20, "0");
    for (const change of changes) change(this.#records, versionstamp);
    return { ok: true, versionstamp };
  }

  async #run<T>(label: string, work: () => T): Promise<T> {
    const scheduler = this.#scheduler;
    await scheduler.pass("store", label);
    const fault = scheduler.fault(kvFaults, label);
    if (fault === "locked") throw new TypeError("database is locked");
    if (fault === "thrown before") throw new Error("the connection is gone");
    if (fault === "hanging") await scheduler.sleep(hangMs);
    const result = work();
    await scheduler.pass("result", label);
    if (fault === "thrown after") throw new Error("the connection is gone");
    if (fault === "late") await scheduler.sleep(hangMs);
    return result;
  }
}

/** `hanging` delays the call, and `late` the response, for longer than every time limit. */
const kvFaults = ["locked", "thrown before", "thrown after", "hanging", "late"] as const;
const hangMs = 12_000;

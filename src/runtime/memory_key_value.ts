import { deserialize } from "node:v8";
import { checkCommit, checkPage, serializeValue } from "./check_commit.ts";
import { encodeKey, encodePrefix, isBelow } from "./key_code.ts";
import type {
  Key,
  KeyValue,
  KeyValueCommit,
  KeyValueCommitResult,
  KeyValueEntry,
  KeyValuePage,
} from "./key_value.ts";
import type { Clock } from "./runtime.ts";
import { StoreError } from "./store_error.ts";

interface StoredRecord {
  readonly key: Key;
  /** Serialized, so that nobody can change what is stored by changing what was handed over. */
  readonly bytes: Uint8Array;
  readonly expiresAt: number;
  readonly versionstamp: string;
}

/** A {@link KeyValue} in the memory of this process: gone when it ends, unseen by others. */
export function createMemoryKeyValue(clock: Clock): KeyValue {
  const records = new Map<string, StoredRecord>();
  let commits = 0;
  let isClosed = false;
  /** At this size the expired ones are thrown away: seldom enough to cost a write nothing. */
  let sweepAt = firstSweep;

  function live(code: string): StoredRecord | undefined {
    const record = records.get(code);
    return record === undefined || record.expiresAt <= clock.now() ? undefined : record;
  }

  function entry(key: Key): KeyValueEntry {
    const record = live(encodeKey(key));
    if (record === undefined) return { key, value: undefined, versionstamp: null };
    return { key, value: deserialize(record.bytes), versionstamp: record.versionstamp };
  }

  function apply({ checks = [], mutations }: KeyValueCommit): KeyValueCommitResult {
    const holds = checks.every(({ key, versionstamp }) =>
      (live(encodeKey(key))?.versionstamp ?? null) === versionstamp
    );
    if (!holds) return { ok: false };
    commits++;
    const versionstamp = commits.toString(16).padStart(20, "0");
    for (const [code, record] of prepared(mutations, versionstamp)) {
      if (record === null) records.delete(code);
      else records.set(code, record);
    }
    sweep();
    return { ok: true, versionstamp };
  }

  /** Whatever can be wrong with a mutation is wrong before the first is done. */
  function prepared(
    mutations: KeyValueCommit["mutations"],
    versionstamp: string,
  ): readonly (readonly [code: string, StoredRecord | null])[] {
    const now = clock.now();
    return mutations.map((mutation) => {
      const { key } = mutation;
      const code = encodeKey(key);
      if (mutation.kind === "delete") return [code, null];
      const { value, expireInMs = Infinity } = mutation;
      const bytes = serializeValue(key, value);
      return [code, { key: [...key], bytes, expiresAt: now + expireInMs, versionstamp }];
    });
  }

  function sweep(): void {
    if (records.size < sweepAt) return;
    for (const code of records.keys()) if (live(code) === undefined) records.delete(code);
    sweepAt = Math.max(firstSweep, 2 * records.size);
  }

  /** As a promise in every case, like a store that is somewhere else. */
  async function open<T>(work: () => T): Promise<T> {
    if (isClosed) throw new StoreError("unavailable", new Error("The store is closed"));
    return await work();
  }

  return {
    get: (key) => open(() => entry(key)),
    getMany: (keys) => open(() => keys.map(entry)),
    list: (page) =>
      open(() => {
        checkPage(page);
        const codes = [...records.keys()].filter((code) => live(code) !== undefined);
        return selected(codes, page).flatMap((code) => {
          const record = records.get(code);
          return record === undefined ? [] : [entry(record.key)];
        });
      }),
    commit: (commit) =>
      open(() => {
        checkCommit(commit);
        return apply(commit);
      }),
    close() {
      isClosed = true;
      records.clear();
      return Promise.resolve();
    },
  };
}

const firstSweep = 1_000;

/** Walks through all of them, which is what a store of this kind can afford to do. */
function selected(codes: readonly string[], page: KeyValuePage): readonly string[] {
  const { prefix, after, limit, reverse = false } = page;
  const prefixCode = encodePrefix(prefix);
  const start = after === undefined ? null : encodeKey(after);
  const found = codes.filter((code) =>
    isBelow(prefixCode, code) && (start === null || (reverse ? code < start : code > start))
  ).sort();
  if (reverse) found.reverse();
  return found.slice(0, limit);
}

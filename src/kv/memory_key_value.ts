import { deserialize } from "node:v8";
import { serializeValue, validateCommit, validatePage } from "./validate_commit.ts";
import { encodeKey, encodePrefix, isBelow } from "./key_encoding.ts";
import type {
  KeyValue,
  KeyValueCommit,
  KeyValueCommitResult,
  KeyValueEntry,
  KeyValueKey,
  KeyValuePage,
} from "./key_value.ts";
import type { Clock } from "../runtime/runtime.ts";
import { StoreError } from "./store_error.ts";

/**
 * Makes a {@link KeyValue} in the memory of this process: lost when it ends, invisible to others.
 * Once it holds `maxBytes`, it refuses commits that would add to them: clients must not be able to
 * fill the memory of a service with records that are kept for a day.
 */
export function createMemoryKeyValue(clock: Clock, maxBytes: number = 64 * 1024 ** 2): KeyValue {
  const records = new MemoryRecords(clock, maxBytes);
  let isClosed = false;

  /** Errors reject, as with a remote store. */
  async function ifOpen<T>(work: () => T): Promise<T> {
    if (isClosed) throw new StoreError("unavailable", new Error("The store is closed"));
    return await work();
  }

  return {
    get: (key) => ifOpen(() => records.entry(key)),
    getMany: (keys) => ifOpen(() => keys.map((key) => records.entry(key))),
    list: (page) => ifOpen(() => records.page(page)),
    commit: (commit) => ifOpen(() => records.apply(commit)),
    close() {
      isClosed = true;
      return Promise.resolve();
    },
  };
}

interface MemoryRecord {
  readonly key: KeyValueKey;
  /** Serialized, so that later changes to the value that was passed do not reach the store. */
  readonly bytes: Uint8Array;
  readonly expiresAt: number;
  readonly versionstamp: string;
}

class MemoryRecords {
  readonly #clock: Clock;
  readonly #maxBytes: number;
  #bytes = 0;
  readonly #records = new Map<string, MemoryRecord>();
  #commits = 0;
  /** At this size expired records are removed: rarely enough to cost a write nothing. */
  #sweepAt = firstSweep;
  /** When records were last removed to make room. */
  #sweptForRoomAt = -Infinity;

  constructor(clock: Clock, maxBytes: number) {
    this.#clock = clock;
    this.#maxBytes = maxBytes;
  }

  entry(key: KeyValueKey): KeyValueEntry {
    const record = this.#live(encodeKey(key));
    return record === undefined ? { key, value: undefined, versionstamp: null } : toEntry(record);
  }

  /** Reads through all records, which a store in memory can afford. */
  page(page: KeyValuePage): readonly KeyValueEntry[] {
    validatePage(page);
    const { prefix, after, limit, reverse = false } = page;
    const prefixCode = encodePrefix(prefix);
    const start = after === undefined ? null : encodeKey(after);
    const codes = [...this.#records.keys()].filter((code) =>
      isBelow(prefixCode, code) &&
      (start === null || (reverse ? code < start : code > start))
    ).sort();
    if (reverse) codes.reverse();
    return codes.values().map((code) => this.#live(code)).filter((record) => record !== undefined)
      .take(limit).map(toEntry).toArray();
  }

  apply(commit: KeyValueCommit): KeyValueCommitResult {
    validateCommit(commit);
    const { checks = [], mutations } = commit;
    const holds = checks.every(({ key, versionstamp }) =>
      (this.#live(encodeKey(key))?.versionstamp ?? null) === versionstamp
    );
    // All mutations are prepared, and may throw, before the first is carried out.
    const versionstamp = (this.#commits + 1).toString(16).padStart(20, "0");
    const prepared = mutations.map((mutation) => this.#prepared(mutation, versionstamp));
    if (!holds) return { ok: false };
    this.#requireRoom(prepared);
    this.#commits++;
    for (const [code, record] of prepared) {
      this.#remove(code);
      if (record === null) continue;
      this.#records.set(code, record);
      this.#bytes += sizeOf(code, record);
    }
    if (this.#records.size >= this.#sweepAt) this.#sweep();
    return { ok: true, versionstamp };
  }

  #live(code: string): MemoryRecord | undefined {
    const record = this.#records.get(code);
    return record === undefined || record.expiresAt <= this.#clock.now() ? undefined : record;
  }

  #prepared(
    mutation: KeyValueCommit["mutations"][number],
    versionstamp: string,
  ): PreparedRecord {
    const { key } = mutation;
    const code = encodeKey(key);
    if (mutation.kind === "delete") return [code, null];
    const { value, expireInMs = Infinity } = mutation;
    const bytes = serializeValue(key, value);
    const expiresAt = this.#clock.now() + expireInMs;
    return [code, { key: copyOf(key), bytes, expiresAt, versionstamp }];
  }

  #requireRoom(prepared: readonly PreparedRecord[]): void {
    const more = prepared.reduce(
      (sum, [code, record]) => sum + (record === null ? 0 : sizeOf(code, record)),
      0,
    );
    // A commit that only deletes is never refused.
    if (more === 0 || this.#bytes + more <= this.#maxBytes) return;
    const now = this.#clock.now();
    // A sweep visits all records: a client that filled the store must not slow down every write.
    if (Math.abs(now - this.#sweptForRoomAt) >= sweepPauseMs) {
      this.#sweptForRoomAt = now;
      this.#sweep();
      if (this.#bytes + more <= this.#maxBytes) return;
    }
    throw new StoreError("unavailable", new Error(`It holds ${this.#maxBytes} bytes already`));
  }

  #remove(code: string): void {
    const record = this.#records.get(code);
    if (record === undefined) return;
    this.#records.delete(code);
    this.#bytes -= sizeOf(code, record);
  }

  #sweep(): void {
    for (const code of this.#records.keys()) {
      if (this.#live(code) === undefined) this.#remove(code);
    }
    this.#sweepAt = Math.max(firstSweep, 2 * this.#records.size);
  }
}

const firstSweep = 1_000;

/** How long a store that was full is assumed to be full. */
const sweepPauseMs = 1_000;

/** An encoded key and its new record; null deletes it. */
type PreparedRecord = readonly [code: string, record: MemoryRecord | null];

/** About the memory that a record takes, with its key. */
function sizeOf(code: string, { bytes }: MemoryRecord): number {
  return bytes.length + 4 * code.length + 200;
}

function toEntry({ key, bytes, versionstamp }: MemoryRecord): KeyValueEntry {
  return { key: copyOf(key), value: deserialize(bytes), versionstamp };
}

function copyOf(key: KeyValueKey): KeyValueKey {
  return key.map((part) => part instanceof Uint8Array ? part.slice() : part);
}

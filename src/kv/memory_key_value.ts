import { deserialize, serialize } from "node:v8";
import { encodeKey, encodePrefix, isBelowPrefix, keyNameForMessage } from "./key_encoding.ts";
import type {
  KeyValue,
  KeyValueCommit,
  KeyValueCommitResult,
  KeyValueEntry,
  KeyValueKey,
  KeyValuePage,
} from "./key_value.ts";
import { RecordsByClient } from "./records_by_client.ts";
import type { Clock } from "../runtime/runtime.ts";
import { StoreError } from "./store_error.ts";

/**
 * Creates a {@link KeyValue} in the memory of this process. At `maxBytes`, the store refuses
 * commits that add records, so that clients cannot fill the memory. Records with a `share` use at
 * most half, and are dropped to make room for new records with a `share` and for reserved records.
 * For reserved records, the limit is an eighth higher.
 */
export function createMemoryKeyValue(clock: Clock, maxBytes: number = 64 * 1024 ** 2): KeyValue {
  const records = new MemoryRecords(clock, maxBytes);
  let isClosed = false;

  /** Runs `work` asynchronously, so that an error rejects the promise, as with a remote store. */
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
  readonly bytes: Uint8Array;
  readonly expiresAt: number;
  readonly versionstamp: string;
  readonly share: string | null;
  readonly isReserved: boolean;
}

class MemoryRecords {
  readonly #clock: Clock;
  readonly #maxBytes: number;
  #bytes = 0;
  readonly #records = new Map<string, MemoryRecord>();
  readonly #shares = new RecordsByClient();
  #commits = 0;
  /** Number of records above which all records are read, to remove those that have expired. */
  #sweepAt = firstSweep;
  #sweptForRoomAt = -Infinity;

  constructor(clock: Clock, maxBytes: number) {
    this.#clock = clock;
    this.#maxBytes = maxBytes;
  }

  entry(key: KeyValueKey): KeyValueEntry {
    const record = this.#live(encodeKey(key));
    return record === undefined ? { key, value: undefined, versionstamp: null } : toEntry(record);
  }

  /** Reads all records, although it returns only one page. In memory, this is fast enough. */
  page(page: KeyValuePage): readonly KeyValueEntry[] {
    validatePage(page);
    const { prefix, after, limit, reverse = false } = page;
    const prefixCode = encodePrefix(prefix);
    const start = after === undefined ? null : encodeKey(after);
    const codes = [...this.#records.keys()].filter((code) =>
      isBelowPrefix(prefixCode, code) && (start === null || (reverse ? code < start : code > start))
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
    // Prepares all mutations before it applies any: if one throws, none is applied.
    const versionstamp = (this.#commits + 1).toString(16).padStart(20, "0");
    const prepared = mutations.map((mutation) => this.#prepared(mutation, versionstamp));
    if (!holds) return { ok: false };
    this.#makeRoom(prepared);
    this.#commits++;
    for (const [code, record] of prepared) {
      this.#remove(code);
      if (record === null) continue;
      this.#records.set(code, record);
      const size = sizeOf(code, record);
      this.#bytes += size;
      if (record.share !== null) this.#shares.add(record.share, code, size);
    }
    if (this.#records.size >= this.#sweepAt) this.#sweep();
    return { ok: true, versionstamp };
  }

  #live(code: string): MemoryRecord | undefined {
    const record = this.#records.get(code);
    return record === undefined || record.expiresAt <= this.#clock.now() ? undefined : record;
  }

  #prepared(mutation: KeyValueCommit["mutations"][number], versionstamp: string): PreparedRecord {
    const { key } = mutation;
    const code = encodeKey(key);
    if (mutation.kind === "delete") return [code, null];
    const { value, expireInMs = Infinity, share = null, isReserved = false } = mutation;
    const bytes = serializeValue(key, value);
    const expiresAt = this.#clock.now() + expireInMs;
    return [code, { key: copyOf(key), bytes, expiresAt, versionstamp, share, isReserved }];
  }

  #makeRoom(prepared: readonly PreparedRecord[]): void {
    const records = prepared.flatMap(([code, record]) => record === null ? [] : [{ code, record }]);
    if (records.length === 0) return;
    const sum = (some: typeof records) =>
      some.reduce((bytes, { code, record }) => bytes + sizeOf(code, record), 0);
    const more = sum(records);
    const shared = sum(records.filter(({ record }) => record.share !== null));
    const isReserved = records.some(({ record }) => record.isReserved);
    const most = this.#maxBytes * (isReserved ? 1.125 : 1);
    const hasRoom = () =>
      this.#bytes + more <= most &&
      (shared === 0 || this.#shares.bytes + shared <= this.#maxBytes / 2);
    if (hasRoom()) return;
    this.#sweepForRoom();
    while (!hasRoom()) {
      // Only records with a `share` and reserved records displace existing records.
      const code = shared > 0 || isReserved ? this.#shares.next() : null;
      if (code === null) {
        throw new StoreError("unavailable", new Error(`It holds ${this.#maxBytes} bytes already`));
      }
      this.#remove(code);
    }
  }

  /** Removes expired records, but at most once a second, because this reads all records. */
  #sweepForRoom(): void {
    const now = this.#clock.now();
    if (Math.abs(now - this.#sweptForRoomAt) < sweepPauseMs) return;
    this.#sweptForRoomAt = now;
    this.#sweep();
  }

  #remove(code: string): void {
    const record = this.#records.get(code);
    if (record === undefined) return;
    this.#records.delete(code);
    this.#bytes -= sizeOf(code, record);
    if (record.share !== null) this.#shares.remove(record.share, code);
  }

  #sweep(): void {
    for (const code of this.#records.keys()) {
      if (this.#live(code) === undefined) this.#remove(code);
    }
    this.#sweepAt = Math.max(firstSweep, 2 * this.#records.size);
  }
}

const firstSweep = 1_000;

const sweepPauseMs = 1_000;

type PreparedRecord = readonly [code: string, record: MemoryRecord | null];

function sizeOf(code: string, { bytes }: MemoryRecord): number {
  return bytes.length + 4 * code.length + 200;
}

function toEntry({ key, bytes, versionstamp }: MemoryRecord): KeyValueEntry {
  return { key: copyOf(key), value: deserialize(bytes), versionstamp };
}

function copyOf(key: KeyValueKey): KeyValueKey {
  return key.map((part) => part instanceof Uint8Array ? part.slice() : part);
}

/** Throws a plain Error for a commit that some store would refuse. Does not check the values. */
export function validateCommit({ checks = [], mutations, claim }: KeyValueCommit): void {
  for (const { key } of [...checks, ...mutations]) encodeKey(key);
  if (checks.length > maxChecksPerCommit) {
    throw new Error(`Cannot commit ${checks.length} checks: ${maxChecksPerCommit} are the most`);
  }
  if (mutations.length > maxMutations) {
    throw new Error(`Cannot commit ${mutations.length} mutations: ${maxMutations} are the most`);
  }
  for (const mutation of mutations) {
    if (mutation.kind === "delete") continue;
    const { key, value, expireInMs = 1 } = mutation;
    if (value === undefined) {
      throw new Error(`Cannot store undefined under ${keyNameForMessage(key)}`);
    }
    if (Number.isSafeInteger(expireInMs) && expireInMs > 0) continue;
    throw new Error(
      `Cannot store under ${
        keyNameForMessage(key)
      }: expireInMs ${expireInMs} is no whole number over 0`,
    );
  }
  if (claim === undefined) return;
  const claimed = encodeKey(claim);
  const last = mutations.findLast(({ key }) => encodeKey(key) === claimed);
  if (last?.kind !== "set") {
    throw new Error(
      `Cannot commit: the claim, ${keyNameForMessage(claim)}, is not the key of a set`,
    );
  }
}

export function serializeValue(key: KeyValueKey, value: unknown): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = serialize(value);
  } catch (cause) {
    throw new Error(`Cannot store under ${keyNameForMessage(key)}: the value cannot be cloned`, {
      cause,
    });
  }
  if (bytes.length > maxValueBytes) {
    const size = bytes.length.toLocaleString("en");
    throw new Error(
      `Cannot store under ${keyNameForMessage(key)}: ${size} bytes are more than 65,000`,
    );
  }
  return bytes;
}

export function validatePage({ prefix, after, limit }: KeyValuePage): void {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > maxEntries) {
    throw new Error(`Cannot list ${limit} entries: the limit is a whole number from 1 to 1,000`);
  }
  if (after === undefined || isBelowPrefix(encodePrefix(prefix), encodeKey(after))) return;
  throw new Error(`Cannot list after ${keyNameForMessage(after)}: it is not below the prefix`);
}

/** Maximum number of checks in a commit, as in KV Connect. Local stores allow a hundred. */
export const maxChecksPerCommit = 10;

const maxMutations = 1_000;

/** Maximum size of a value. Deno KV allows 65,536 bytes, including the record's expiry. */
const maxValueBytes = 65_000;

const maxEntries = 1_000;

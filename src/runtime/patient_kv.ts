import { backOff } from "./back_off.ts";
import { type Deadline, deadline } from "./deadline.ts";
import type { DenoKv } from "./deno_kv.ts";
import { encodeKey } from "./key_code.ts";
import type { Key, KeyValueEntry, KeyValuePage } from "./key_value.ts";
import { decodeRecord, type KvRecord } from "./kv_record.ts";
import type { Runtime } from "./runtime.ts";
import { StoreError } from "./store_error.ts";

/** How a Deno KV is used. */
export interface PatientKvOptions extends Pick<Runtime, "clock" | "random"> {
  /** How long one operation may take with all its tries; 3,000 unless set. */
  readonly deadlineMs?: number | undefined;
}

/**
 * Operations of a Deno KV that try again while another process is in the way, and that end: its
 * client of KV Connect tries for ever.
 */
export class PatientKv {
  readonly #kv: DenoKv;
  readonly #options: PatientKvOptions;
  #isClosed = false;

  /** Owns the store: closes it at the end. */
  constructor(kv: DenoKv, options: PatientKvOptions) {
    this.#kv = kv;
    this.#options = options;
  }

  /** The limit of an operation that begins now. Throws when the store is closed. */
  limit(limitMs: number = this.#options.deadlineMs ?? 3_000): Deadline {
    if (this.#isClosed) throw new StoreError("unavailable", new Error("The store is closed"));
    return deadline(
      limitMs,
      this.#options.clock,
      () => new Error(`No answer came within ${limitMs} ms`),
    );
  }

  /** Runs an operation until no lock is in its way; a lock says that nothing was done. */
  async run<T>(operation: (kv: DenoKv) => Promise<T>, limit: Deadline): Promise<T> {
    for (let tries = 0;; tries++) {
      try {
        return await limit.within(operation(this.#kv));
      } catch (error) {
        if (!isLocked(error)) throw error;
        await backOff(tries, this.#options.random);
        if (limit.leftMs() === 0) throw new StoreError("unavailable", error);
      }
    }
  }

  /** The records under these keys. */
  async readAll(keys: readonly Key[], limit: Deadline): Promise<readonly KvRecord[]> {
    for (const key of keys) encodeKey(key);
    const lots: (readonly Key[])[] = [];
    for (let start = 0; start < keys.length; start += mostKeys) {
      lots.push(keys.slice(start, start + mostKeys));
    }
    const read = await Promise.all(
      lots.map((lot) => this.#read((kv) => kv.getMany(lot), limit)),
    );
    const now = this.#options.clock.now();
    return read.flatMap((entries, lot) =>
      entries.map((entry, index) => decodeRecord(lots[lot]?.[index] ?? [], entry, now))
    );
  }

  /** The record under this key. */
  async readOne(key: Key, limit: Deadline): Promise<KvRecord> {
    encodeKey(key);
    const entry = await this.#read((kv) => kv.get(key), limit);
    return decodeRecord(key, entry, this.#options.clock.now());
  }

  /** The live records of a page. */
  list(page: KeyValuePage, limit: Deadline): Promise<readonly KeyValueEntry[]> {
    return this.#read((kv) => this.#collect(kv, page, limit), limit);
  }

  /** Lets go of the store. */
  close(): void {
    if (!this.#isClosed) this.#kv.close();
    this.#isClosed = true;
  }

  async #read<T>(operation: (kv: DenoKv) => Promise<T>, limit: Deadline): Promise<T> {
    try {
      return await this.run(operation, limit);
    } catch (error) {
      throw error instanceof StoreError ? error : new StoreError("unavailable", error);
    }
  }

  async #collect(
    kv: DenoKv,
    page: KeyValuePage,
    limit: Deadline,
  ): Promise<readonly KeyValueEntry[]> {
    const { prefix, after, reverse = false } = page;
    const place = after === undefined ? {} : reverse ? { end: after } : { start: after };
    const known = after === undefined ? null : encodeKey(after);
    const now = this.#options.clock.now();
    const found: KeyValueEntry[] = [];
    const batchSize = Math.min(page.limit + 1, mostEntries);
    for await (const stored of kv.list({ prefix, ...place }, { reverse, batchSize })) {
      // A symbol stands for a versionstamp in keys that are written, never in those that are read.
      const key = stored.key.filter((part) => typeof part !== "symbol");
      const { entry } = decodeRecord(key, stored, now);
      if (entry.value !== undefined && encodeKey(key) !== known) found.push(entry);
      if (found.length === page.limit || limit.leftMs() === 0) break;
    }
    return found;
  }
}

/** What a Deno KV reads at one moment. */
const mostKeys = 10;
const mostEntries = 1_000;

/** Deno gives SQLite's words and no code. */
function isLocked(error: unknown): boolean {
  return error instanceof TypeError && error.message.includes("database is locked");
}

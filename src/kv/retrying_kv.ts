import { waitBackoff } from "../runtime/backoff.ts";
import { CircuitBreaker, type StartedOperation } from "./circuit_breaker.ts";
import { decodeRecord, type DenoKv, type DenoKvEntry, type KvRecord } from "./deno_kv.ts";
import { AbandonedClaims } from "./abandoned_claims.ts";
import { encodeKey } from "./key_encoding.ts";
import type { KeyValueEntry, KeyValueKey, KeyValuePage } from "./key_value.ts";
import { isLockedError } from "./open_unlocked.ts";
import { type Deadline, deadline, type Runtime } from "../runtime/runtime.ts";
import { StoreError } from "./store_error.ts";

export interface RetryingKvOptions extends Pick<Runtime, "clock" | "random"> {
  /** Timeout of an operation including its retries, in milliseconds. Default: 3,000. */
  readonly deadlineMs?: number | undefined;
}

/**
 * A Deno KV with timeouts and retries while another process has locked the file. Deno's client of
 * KV Connect retries for ever, so few operations are sent while the store does not respond.
 */
export class RetryingKv {
  readonly #kv: DenoKv;
  readonly #options: RetryingKvOptions;
  readonly #breaker: CircuitBreaker;
  #isClosed = false;
  /** The claims whose records are ignored. */
  readonly abandonedClaims = new AbandonedClaims();

  /** Takes over `kv`, which `close` closes. */
  constructor(kv: DenoKv, options: RetryingKvOptions) {
    this.#kv = kv;
    this.#options = options;
    this.#breaker = new CircuitBreaker(options.clock, () => kv.get(["probe"]));
  }

  /** Returns the deadline of an operation that starts now. Throws if the store was closed. */
  startDeadline(limitMs?: number): Deadline {
    if (this.#isClosed) throw new StoreError("unavailable", new Error("The store is closed"));
    return this.cleanupDeadline(limitMs);
  }

  /** Returns the deadline of a cleanup, which can run even after the store was closed. */
  cleanupDeadline(limitMs: number = this.#options.deadlineMs ?? 3_000): Deadline {
    return deadline(
      limitMs,
      this.#options.clock,
      () => new NoAnswer(`No answer came within ${limitMs} ms`),
    );
  }

  /**
   * Runs an operation, again if another process has locked the file. After a `StoreError`, nothing
   * was done. After any other error, it may have been done or may still be in progress.
   */
  async run<T>(operation: (kv: DenoKv) => Promise<T>, limit: Deadline): Promise<T> {
    for (let tries = 1;; tries++) {
      for (let waiting; (waiting = this.#breaker.waitUntilReady(limit)) !== null;) await waiting;
      const work = operation(this.#kv);
      const started = this.#breaker.start();
      try {
        const answer = await limit.within(work);
        this.#breaker.recordAnswer(started);
        return answer;
      } catch (error) {
        if (error instanceof NoAnswer) this.#missed(work, started);
        else this.#breaker.recordAnswer(started);
        if (!isLockedError(error)) throw error;
        await waitBackoff(tries, this.#options);
        if (limit.leftMs() === 0) throw new StoreError("unavailable", error);
      }
    }
  }

  async readAll(keys: readonly KeyValueKey[], limit: Deadline): Promise<readonly KvRecord[]> {
    for (const key of keys) encodeKey(key);
    const batches: (readonly KeyValueKey[])[] = [];
    for (let start = 0; start < keys.length; start += maxKeys) {
      batches.push(keys.slice(start, start + maxKeys));
    }
    const read = await Promise.all(
      batches.map((batch) => this.#read((kv) => kv.getMany(batch), limit)),
    );
    const now = this.#options.clock.now();
    return read.flatMap((entries, batch) =>
      entries.map((entry, index) => this.#decode(batches[batch]?.[index] ?? [], entry, now))
    );
  }

  async readOne(key: KeyValueKey, limit: Deadline): Promise<KvRecord> {
    encodeKey(key);
    const entry = await this.#read((kv) => kv.get(key), limit);
    return this.#decode(key, entry, this.#options.clock.now());
  }

  /** Returns the records of a page, without expired ones. */
  list(page: KeyValuePage, limit: Deadline): Promise<readonly KeyValueEntry[]> {
    return this.#read((kv) => this.#collect(kv, page, limit), limit);
  }

  /** Closes the store when the abandoned claims are removed, immediately if there are none. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.abandonedClaims.onceEmpty(() => this.#kv.close());
  }

  #missed(work: Promise<unknown>, started: StartedOperation): void {
    this.#breaker.recordTimeout(started);
    const answered = () => this.#breaker.recordAnswer(started);
    work.then(answered, answered);
  }

  #decode(key: KeyValueKey, stored: DenoKvEntry, now: number): KvRecord {
    const record = decodeRecord(key, stored, now);
    const { entry, claimId } = record;
    return claimId !== null && this.abandonedClaims.has(claimId)
      ? { entry: { ...entry, value: undefined }, claimId }
      : record;
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
    const range = after === undefined ? {} : reverse ? { end: after } : { start: after };
    const known = after === undefined ? null : encodeKey(after);
    const now = this.#options.clock.now();
    const found: KeyValueEntry[] = [];
    const batchSize = Math.min(page.limit + 1, maxEntries);
    for await (const stored of kv.list({ prefix, ...range }, { reverse, batchSize })) {
      // Deno uses a symbol as a placeholder in keys to write. Keys that are read contain none.
      const key = stored.key.filter((part) => typeof part !== "symbol");
      const { entry } = this.#decode(key, stored, now);
      if (entry.value !== undefined && encodeKey(key) !== known) found.push(entry);
      if (found.length === page.limit || limit.leftMs() === 0) break;
    }
    return found;
  }
}

class NoAnswer extends Error {}

/** Limits of one read request to a Deno KV. */
const maxKeys = 10;
const maxEntries = 1_000;

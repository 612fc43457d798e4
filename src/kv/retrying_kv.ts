import { waitBackoff } from "../runtime/backoff.ts";
import { CircuitBreaker, type StartedOperation } from "./circuit_breaker.ts";
import { type Deadline, deadline } from "../runtime/deadline.ts";
import type { DenoKv, DenoKvEntry } from "./deno_kv.ts";
import { AbandonedClaims } from "./abandoned_claims.ts";
import { encodeKey } from "./key_encoding.ts";
import type { KeyValueEntry, KeyValueKey, KeyValuePage } from "./key_value.ts";
import { decodeRecord, type KvRecord } from "./deno_kv_record.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { StoreError } from "./store_error.ts";

/** How a Deno KV is used. */
export interface RetryingKvOptions extends Pick<Runtime, "clock" | "random"> {
  /** How long one operation may take with all its tries; 3,000 unless set. */
  readonly deadlineMs?: number | undefined;
}

/**
 * Operations of a Deno KV that try again while another process is in the way, and that end: its
 * client of KV Connect tries for ever, so that little is sent to it while it is silent.
 */
export class RetryingKv {
  readonly #kv: DenoKv;
  readonly #options: RetryingKvOptions;
  readonly #breaker: CircuitBreaker;
  #isClosed = false;
  /** What their commits leave is read as if it had expired. */
  readonly abandonedClaims = new AbandonedClaims();

  /** Owns the store: closes it at the end. */
  constructor(kv: DenoKv, options: RetryingKvOptions) {
    this.#kv = kv;
    this.#options = options;
    this.#breaker = new CircuitBreaker(options.clock, () => kv.get(["probe"]));
  }

  /** The limit of an operation that begins now. Throws when the store is closed. */
  startDeadline(limitMs?: number): Deadline {
    if (this.#isClosed) throw new StoreError("unavailable", new Error("The store is closed"));
    return this.cleanupDeadline(limitMs);
  }

  /** The same for what is still to be put right when the store is closed. */
  cleanupDeadline(limitMs: number = this.#options.deadlineMs ?? 3_000): Deadline {
    return deadline(
      limitMs,
      this.#options.clock,
      () => new NoAnswer(`No answer came within ${limitMs} ms`),
    );
  }

  /**
   * Runs an operation until no lock is in its way; a lock says that nothing was done. A `StoreError`
   * says that, too. With any other error it may have been done, or may still be.
   */
  async run<T>(operation: (kv: DenoKv) => Promise<T>, limit: Deadline): Promise<T> {
    for (let tries = 1;; tries++) {
      for (let waiting; (waiting = this.#breaker.waitUntilReady(limit)) !== null;) await waiting;
      const work = operation(this.#kv);
      const begun = this.#breaker.start();
      try {
        const answer = await limit.within(work);
        this.#breaker.recordAnswer(begun);
        return answer;
      } catch (error) {
        if (error instanceof NoAnswer) this.#missed(work, begun);
        else this.#breaker.recordAnswer(begun);
        if (!isLocked(error)) throw error;
        await waitBackoff(tries, this.#options);
        if (limit.leftMs() === 0) throw new StoreError("unavailable", error);
      }
    }
  }

  /** The records under these keys. */
  async readAll(keys: readonly KeyValueKey[], limit: Deadline): Promise<readonly KvRecord[]> {
    for (const key of keys) encodeKey(key);
    const lots: (readonly KeyValueKey[])[] = [];
    for (let start = 0; start < keys.length; start += maxKeys) {
      lots.push(keys.slice(start, start + maxKeys));
    }
    const read = await Promise.all(
      lots.map((lot) => this.#read((kv) => kv.getMany(lot), limit)),
    );
    const now = this.#options.clock.now();
    return read.flatMap((entries, lot) =>
      entries.map((entry, index) => this.#decode(lots[lot]?.[index] ?? [], entry, now))
    );
  }

  /** The record under this key. */
  async readOne(key: KeyValueKey, limit: Deadline): Promise<KvRecord> {
    encodeKey(key);
    const entry = await this.#read((kv) => kv.get(key), limit);
    return this.#decode(key, entry, this.#options.clock.now());
  }

  /** The live records of a page. */
  list(page: KeyValuePage, limit: Deadline): Promise<readonly KeyValueEntry[]> {
    return this.#read((kv) => this.#collect(kv, page, limit), limit);
  }

  /** Lets go of the store: at once, or when what was given up there is put right. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.abandonedClaims.onceEmpty(() => this.#kv.close());
  }

  #missed(work: Promise<unknown>, begun: StartedOperation): void {
    this.#breaker.recordTimeout(begun);
    const answered = () => this.#breaker.recordAnswer(begun);
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
    const place = after === undefined ? {} : reverse ? { end: after } : { start: after };
    const known = after === undefined ? null : encodeKey(after);
    const now = this.#options.clock.now();
    const found: KeyValueEntry[] = [];
    const batchSize = Math.min(page.limit + 1, maxEntries);
    for await (const stored of kv.list({ prefix, ...place }, { reverse, batchSize })) {
      // A symbol stands for a versionstamp in keys that are written, never in those that are read.
      const key = stored.key.filter((part) => typeof part !== "symbol");
      const { entry } = this.#decode(key, stored, now);
      if (entry.value !== undefined && encodeKey(key) !== known) found.push(entry);
      if (found.length === page.limit || limit.leftMs() === 0) break;
    }
    return found;
  }
}

/** The deadline of an operation is over. */
class NoAnswer extends Error {}

/** What a Deno KV reads at one moment. */
const maxKeys = 10;
const maxEntries = 1_000;

/** Deno gives SQLite's words and no code. */
function isLocked(error: unknown): boolean {
  return error instanceof TypeError && error.message.includes("database is locked");
}

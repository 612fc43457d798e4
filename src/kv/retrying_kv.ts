import { waitBackoff } from "../runtime/backoff.ts";
import { decodeRecord, type DenoKv, type DenoKvEntry, type KvRecord } from "./deno_kv.ts";
import { AbandonedClaims } from "./abandoned_claims.ts";
import { encodeKey } from "./key_encoding.ts";
import type { KeyValueEntry, KeyValueKey, KeyValuePage } from "./key_value.ts";
import { type Clock, type Deadline, deadline, type Runtime } from "../runtime/runtime.ts";
import { StoreError } from "./store_error.ts";

export interface RetryingKvOptions extends Pick<Runtime, "clock" | "random"> {
  readonly deadlineMs?: number | undefined;
}

/** A Deno KV with timeouts, which repeats operations while another process locks the file. */
export class RetryingKv {
  readonly #kv: DenoKv;
  readonly #options: RetryingKvOptions;
  readonly #breaker: CircuitBreaker;
  #isClosed = false;
  readonly abandonedClaims = new AbandonedClaims();

  constructor(kv: DenoKv, options: RetryingKvOptions) {
    this.#kv = kv;
    this.#options = options;
    this.#breaker = new CircuitBreaker(options.clock, () => kv.get(["probe"]));
  }

  startDeadline(limitMs?: number): Deadline {
    if (this.#isClosed) throw new StoreError("unavailable", new Error("The store is closed"));
    return this.cleanupDeadline(limitMs);
  }

  cleanupDeadline(limitMs: number = this.#options.deadlineMs ?? 3_000): Deadline {
    return deadline(
      limitMs,
      this.#options.clock,
      () => new NoAnswer(`No answer came within ${limitMs} ms`),
    );
  }

  /** A `StoreError` means that nothing was done. After any other error, the outcome is unknown. */
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

  list(page: KeyValuePage, limit: Deadline): Promise<readonly KeyValueEntry[]> {
    return this.#read((kv) => this.#collect(kv, page, limit), limit);
  }

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
      // Only narrows the type: Deno puts a symbol only into keys to write, never into stored keys.
      const key = stored.key.filter((part) => typeof part !== "symbol");
      const { entry } = this.#decode(key, stored, now);
      if (entry.value !== undefined && encodeKey(key) !== known) found.push(entry);
      if (found.length === page.limit || limit.leftMs() === 0) break;
    }
    return found;
  }
}

class NoAnswer extends Error {}

const maxKeys = 10;
const maxEntries = 1_000;

interface StartedOperation {
  readonly startedAt: number;
}

/**
 * Sends few operations to a store that does not respond. A sent operation cannot be cancelled:
 * Deno's client of KV Connect carries it out after the outage, when its request has long failed. At
 * most {@link maxBetweenAnswers} operations are sent between two responses. Further operations wait
 * for a response until their deadline. If the store was silent for half a second, it must first
 * respond to a probe, which reads a missing record. After an operation has missed its deadline,
 * further operations fail if a probe has no response within half a second. An error is also a
 * response, so a store that returns errors delays no operation.
 */
class CircuitBreaker {
  readonly #clock: Clock;
  readonly #probe: () => Promise<unknown>;
  /** Operations without a response, oldest first. A response removes its own and all older ones. */
  readonly #pending = new Set<StartedOperation>();
  #answeredAt = -Infinity;
  #sentSinceAnswer = 0;
  #isOpen = false;
  #nextAnswer: PromiseWithResolvers<void> | null = null;
  #probedAt = -Infinity;
  #probePauseMs = minProbePauseMs;

  constructor(clock: Clock, probe: () => Promise<unknown>) {
    this.#clock = clock;
    this.#probe = probe;
  }

  /** Returns null if an operation may be sent now, or else a promise after which to ask again. */
  waitUntilReady(limit: Deadline): Promise<void> | null {
    const [oldest] = this.#pending;
    if (oldest === undefined) return null;
    const now = this.#clock.elapsedMs();
    const isSilent = now - oldest.startedAt >= silenceMs && now - this.#answeredAt >= silenceMs;
    if (!isSilent && this.#sentSinceAnswer < maxBetweenAnswers) return null;
    if (isSilent) this.#sendProbe(now);
    return this.#waitForAnswer(now, limit);
  }

  start(): StartedOperation {
    const operation = { startedAt: this.#clock.elapsedMs() };
    this.#pending.add(operation);
    this.#sentSinceAnswer++;
    return operation;
  }

  recordAnswer(operation: StartedOperation): void {
    this.#answeredAt = this.#clock.elapsedMs();
    this.#isOpen = false;
    this.#sentSinceAnswer = 0;
    this.#probePauseMs = minProbePauseMs;
    this.#nextAnswer?.resolve();
    this.#nextAnswer = null;
    if (!this.#pending.has(operation)) return;
    for (const earlier of this.#pending) {
      this.#pending.delete(earlier);
      if (earlier === operation) return;
    }
  }

  recordTimeout(operation: StartedOperation): void {
    if (this.#pending.has(operation)) this.#isOpen = true;
  }

  async #waitForAnswer(now: number, limit: Deadline): Promise<void> {
    const probeLeftMs = this.#isOpen ? this.#probedAt + silenceMs - now : Infinity;
    const waitMs = Math.min(probeLeftMs, limit.leftMs());
    if (waitMs <= 0) throw silent();
    this.#nextAnswer ??= Promise.withResolvers();
    try {
      await deadline(waitMs, this.#clock, silent).within(this.#nextAnswer.promise);
    } catch (error) {
      this.#isOpen = true;
      throw error;
    }
  }

  #sendProbe(now: number): void {
    if (now - this.#probedAt < this.#probePauseMs) return;
    this.#probedAt = now;
    this.#probePauseMs = Math.min(2 * this.#probePauseMs, maxProbePauseMs);
    const operation = this.start();
    const answered = () => this.recordAnswer(operation);
    this.#probe().then(answered, answered);
  }
}

const silenceMs = 500;

const maxBetweenAnswers = 64;

/** Milliseconds between two probes. The pause doubles, because Deno's client retries each probe. */
const minProbePauseMs = 500;
const maxProbePauseMs = 30_000;

function silent(): StoreError {
  return new StoreError("unavailable", new Error("The store is silent: nothing was sent"));
}

/** Opens a store's file. Retries for three seconds, because Deno fails while the file is locked. */
export async function openWhenUnlocked<T>(
  open: () => Promise<T>,
  runtime: Pick<Runtime, "clock" | "random">,
): Promise<T> {
  const endsAt = runtime.clock.elapsedMs() + maxWaitMs;
  for (let tries = 1;; tries++) {
    try {
      return await open();
    } catch (error) {
      if (!isLockedError(error) || runtime.clock.elapsedMs() >= endsAt) throw error;
      await waitBackoff(tries, runtime);
    }
  }
}

function isLockedError(error: unknown): boolean {
  // Deno's error has SQLite's message but not its error code, so this function tests the message.
  return error instanceof Error && error.message.includes("database is locked");
}

const maxWaitMs = 3_000;

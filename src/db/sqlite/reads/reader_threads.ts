import { keepAlive } from "../../../runtime/event_loop.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import type { Statement } from "../../../sql/fragment.ts";
import { DatabaseError } from "../../database_error.ts";
import type { QueryResult, ReadLimits } from "../../driver.ts";
import { type ReaderThread, startReaderThread } from "./reader_thread.ts";
import type { BytesLeft } from "../row_cells.ts";
import type { SqliteLibrary } from "../sqlite_library.ts";
import type { ReaderAnswer } from "./serve_reads.ts";

/** What the reader threads of a SQLite file work with. */
export interface ReaderThreadsOptions {
  readonly path: string;
  readonly library: SqliteLibrary["source"];
  readonly maxThreads: number;
  readonly clock: Clock;
}

/** A read for the reader threads of a SQLite file. */
export interface SlowRead {
  readonly statement: Statement;
  readonly limits: ReadLimits;
  readonly bytes: BytesLeft;
  /** Runs it in this thread, where no other can be started. */
  readonly inline: () => QueryResult;
}

/** So many reads wait for a thread; of one identity half as many. */
export const maxWaiting = 32;
/** A thread may be inside of one comparison of long texts when its time is over. */
const graceMs = 1_000;

interface Job extends SlowRead {
  readonly id: number;
  readonly beganAt: number;
  /** How long it waited for its thread. */
  waitedMs: number;
  cancelTimer: () => void;
  isFinished: boolean;
  /** Resolves or rejects it, at most once. */
  readonly finish: (outcome: () => QueryResult) => void;
}

/** A thread from its start on, and the read that it has. */
interface Slot {
  thread: ReaderThread | null;
  starting: Promise<void> | null;
  job: Job | null;
}

/**
 * The threads that run the reads of a SQLite file which would block the thread of all requests, and
 * the queue before them. A read has its whole time for waiting and running.
 */
export class ReaderThreads {
  readonly #options: ReaderThreadsOptions;
  readonly #slots = new Set<Slot>();
  readonly #queue: Job[] = [];
  #nextId = 1;
  /** Whether threads can be started here; false after an attempt that failed. */
  #isPossible: boolean;
  /** Whether some thread has answered. */
  #hasAnswered = false;
  #isClosed = false;

  /** Starts no thread before the first read. */
  constructor(options: ReaderThreadsOptions) {
    this.#options = options;
    this.#isPossible = options.maxThreads > 0;
  }

  /** Runs a read. Rejects with `overloaded` where too many wait, also later, when no turn came. */
  run(read: SlowRead): Promise<QueryResult> {
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult>();
    const { limits: { signal, identity, timeoutMs } } = read;
    const isOfSame = (job: Job) => job.limits.identity === identity;
    if (this.#isClosed) return Promise.reject(closed());
    if (signal.aborted) return Promise.reject(tooSlow("the client has left"));
    if (!this.#isPossible) return new Promise((resolve) => resolve(read.inline()));
    if (
      this.#queue.length >= maxWaiting || this.#queue.filter(isOfSame).length >= maxWaiting / 2
    ) {
      return Promise.reject(overloaded());
    }
    const leave = () => this.#end(job, tooSlow("the client has left"));
    const { clock } = this.#options;
    const letGo = keepAlive();
    const job: Job = {
      ...read,
      id: this.#nextId++ | 0,
      beganAt: clock.elapsedMs(),
      waitedMs: 0,
      cancelTimer: clock.after(timeoutMs, () => this.#expire(job)),
      isFinished: false,
      finish: (outcome) => {
        if (job.isFinished) return;
        job.isFinished = true;
        job.cancelTimer();
        letGo();
        signal.removeEventListener("abort", leave);
        try {
          resolve(outcome());
        } catch (error) {
          reject(error);
        }
      },
    };
    signal.addEventListener("abort", leave);
    this.#queue.push(job);
    this.#dispatch();
    return promise;
  }

  /** Ends all reads, and the threads. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const job of this.#queue.splice(0)) job.finish(() => fail(closed()));
    const closing = [...this.#slots].map(async (slot) => {
      const { job } = slot;
      if (job !== null) this.#end(job, closed());
      await slot.starting;
      await slot.thread?.close();
    });
    await Promise.all(closing);
  }

  #dispatch(): void {
    while (this.#queue.length > 0) {
      const slot = this.#idleSlot();
      if (slot === null) return;
      const job = this.#takeNext();
      if (job === undefined) return;
      slot.job = job;
      job.waitedMs = this.#options.clock.elapsedMs() - job.beganAt;
      if (slot.thread === null) slot.starting = this.#start(slot);
      else this.#post(slot.thread, job);
    }
  }

  #idleSlot(): Slot | null {
    for (const slot of this.#slots) if (slot.job === null) return slot;
    if (this.#slots.size >= this.#options.maxThreads) return null;
    const slot: Slot = { thread: null, starting: null, job: null };
    this.#slots.add(slot);
    return slot;
  }

  /** The first of an identity that has no thread; one that has waits for all others. */
  #takeNext(): Job | undefined {
    const served = new Set([...this.#slots].map(({ job }) => job?.limits.identity));
    const other = this.#queue.findIndex(({ limits }) => !served.has(limits.identity));
    return this.#queue.splice(Math.max(0, other), 1)[0];
  }

  async #start(slot: Slot): Promise<void> {
    try {
      const thread = await startReaderThread({
        ...this.#options,
        onAnswer: (answer) => this.#answered(slot, answer),
        onEnd: (wasReady, error) => this.#ended(slot, wasReady, error),
      });
      slot.thread = thread;
      const { job } = slot;
      if (job?.isFinished === false) return this.#post(thread, job);
      // Its client has left while the thread was started.
      slot.job = null;
      this.#dispatch();
    } catch (error) {
      this.#ended(slot, false, error);
    }
  }

  #post(thread: ReaderThread, job: Job): void {
    const { id, statement, bytes, limits, beganAt } = job;
    const { text, values, describe = false } = statement;
    const limitMs = limits.timeoutMs - (this.#options.clock.elapsedMs() - beganAt);
    thread.post({ id, statement: { text, values, describe }, limitMs, maxBytes: bytes.left });
  }

  #answered(slot: Slot, answer: Exclude<ReaderAnswer, string>): void {
    const { job } = slot;
    this.#hasAnswered = true;
    slot.job = null;
    job?.finish(() => this.#outcome(job, answer));
    this.#dispatch();
  }

  #outcome(job: Job, answer: Exclude<ReaderAnswer, string>): QueryResult {
    if ("result" in answer) {
      job.bytes.left = answer.bytesLeft;
      return answer.result;
    }
    const cause = new Error(answer.reason);
    // With its whole time it might have come to its end.
    if (answer.kind === "too-slow" && job.waitedMs > job.limits.timeoutMs / 2) throw overloaded();
    return fail(answer.kind === null ? cause : new DatabaseError(answer.kind, cause));
  }

  /** Where no thread could read yet, one that could not means that none can be started here. */
  #ended(slot: Slot, wasReady: boolean, error: unknown): void {
    if (!this.#slots.delete(slot) || this.#isClosed) return;
    if (wasReady) {
      slot.job?.finish(() => fail(new DatabaseError("unavailable", error)));
      return this.#dispatch();
    }
    // A lack of descriptors passes: it must not bring long reads into the thread of all requests.
    const isTransient = this.#hasAnswered ||
      (error instanceof DatabaseError && error.kind === "overloaded");
    this.#isPossible = isTransient;
    const waiting = slot.job === null ? [] : [slot.job];
    for (const job of [...waiting, ...this.#queue.splice(0)]) {
      job.finish(isTransient ? () => fail(overloaded()) : job.inline);
    }
  }

  #expire(job: Job): void {
    const isWaiting = this.#queue.includes(job);
    if (isWaiting) return this.#end(job, overloaded());
    const end = () => job.finish(() => fail(tooSlow("the thread does not answer")));
    job.cancelTimer = this.#options.clock.after(graceMs, end);
  }

  #end(job: Job, error: DatabaseError): void {
    const index = this.#queue.indexOf(job);
    if (index >= 0) this.#queue.splice(index, 1);
    for (const slot of this.#slots) if (slot.job === job) slot.thread?.cancel(job.id);
    job.finish(() => fail(error));
  }
}

function fail(error: unknown): never {
  throw error;
}

function tooSlow(reason: string): DatabaseError {
  return new DatabaseError("too-slow", new Error(`The read was ended: ${reason}`));
}

function overloaded(): DatabaseError {
  return new DatabaseError("overloaded", new Error("Too many reads wait for a thread"));
}

function closed(): DatabaseError {
  return new DatabaseError("unavailable", new Error("it is closed"));
}

import { FairQueue } from "../../../../runtime/queues/fair_queue.ts";
import { keepAlive, type Observer } from "../../../../runtime/runtime.ts";
import type { Statement } from "../../../../sql/fragment.ts";
import { DatabaseError } from "../../../../db/database_error.ts";
import type { DriverThreads, QueryResult, ReadLimits } from "../../../../db/driver.ts";
import { maxWaitingReads, watchRead } from "../../../../db/read_limiter.ts";
import { type ReaderThread, type ReaderThreadOptions, startReaderThread } from "./reader_thread.ts";
import type { RemainingBytes } from "../read_limits.ts";
import type { ReaderAnswer } from "./serve_reads.ts";

export interface ReaderThreadsOptions
  extends Pick<ReaderThreadOptions, "path" | "library" | "additions" | "clock"> {
  readonly label: string;
  readonly maxThreads: number;
}

export interface SlowRead {
  readonly statement: Statement;
  readonly limits: ReadLimits;
  readonly bytes: RemainingBytes;
  /** Runs the read in the main thread, if no thread can be started. */
  readonly inline: () => QueryResult;
  readonly measured: (ms: number) => void;
}

/** How long, in ms, a thread may take to abort a slow read: a long comparison delays the abort. */
const graceMs = 1_000;

interface Job extends SlowRead {
  readonly id: number;
  readonly identity: string;
  readonly beganAt: number;
  thread: ReaderThread | null;
  waitedMs: number;
  stopWatch: () => void;
  readonly finish: (outcome: () => QueryResult) => void;
}

/** The threads and the queue for slow reads of a file. Waiting counts towards a read's limit. */
export class ReaderThreads implements DriverThreads {
  readonly #options: ReaderThreadsOptions;
  readonly #threads = new Map<ReaderThread, Job | null>();
  readonly #queue: FairQueue<Job> = new FairQueue<Job>({ maxWaiting: maxWaitingReads });
  readonly #closing = new AbortController();
  #observe: Observer = () => {};
  #nextId = 1;
  #starting: Promise<void> | null = null;
  #isEager = false;
  /** False if no thread can ever start. A temporary lack of file descriptors leaves it true. */
  #isPossible: boolean;
  #hasStarted = false;
  #hasFailed = false;

  constructor(options: ReaderThreadsOptions) {
    this.#options = options;
    this.#isPossible = options.maxThreads > 0;
  }

  async start(): Promise<void> {
    const letGo = keepAlive();
    this.#isEager = true;
    this.#startMore();
    while (this.#starting !== null) await this.#starting;
    letGo();
  }

  observeBy(observe: Observer): void {
    this.#observe = observe;
  }

  run(read: SlowRead): Promise<QueryResult> {
    if (this.#closing.signal.aborted) return Promise.reject(closed());
    if (!this.#isPossible) return new Promise((resolve) => resolve(read.inline()));
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult>();
    const { clock } = this.#options;
    const { limits } = read;
    const letGo = keepAlive();
    const job: Job = {
      ...read,
      id: this.#nextId++ | 0,
      identity: limits.identity,
      beganAt: clock.elapsedMs(),
      thread: null,
      waitedMs: 0,
      stopWatch: watchRead(limits, limits.timeoutMs, clock, (why) => {
        if (why === "late") this.#expire(job);
        else this.#end(job, tooSlow("the client has left"));
      }),
      finish: (outcome) => {
        job.stopWatch();
        letGo();
        try {
          resolve(outcome());
        } catch (error) {
          reject(error);
        }
      },
    };
    if (this.#queue.add(job.identity, job)) this.#dispatch();
    else job.finish(() => fail(overloaded()));
    return promise;
  }

  async close(): Promise<void> {
    this.#closing.abort(closed());
    for (const job of this.#takeAll()) job.finish(() => fail(closed()));
    for (const job of this.#threads.values()) if (job !== null) this.#end(job, closed());
    await this.#starting;
    await Promise.all([...this.#threads.keys()].map((thread) => thread.close()));
  }

  #dispatch(): void {
    for (const [thread, current] of this.#threads) {
      const job = current === null ? this.#takeNext() : undefined;
      if (job !== undefined) this.#post(thread, job);
    }
    if (this.#isEager || this.#queue.size > 0) this.#startMore();
  }

  /** Returns the next read, preferably of a user or address without a running read. */
  #takeNext(): Job | undefined {
    const served = new Set([...this.#threads.values()].map((job) => job?.identity));
    return this.#queue.take(({ identity }) => !served.has(identity)) ?? this.#queue.take();
  }

  *#takeAll(): Iterable<Job> {
    for (let job = this.#queue.take(); job !== undefined; job = this.#queue.take()) yield job;
  }

  /** Starts one thread after another, because each start blocks the main thread for 50 ms. */
  #startMore(): void {
    const { maxThreads } = this.#options;
    if (this.#starting !== null || !this.#isPossible || this.#closing.signal.aborted) return;
    if (this.#threads.size < maxThreads) this.#starting = this.#startOne();
  }

  async #startOne(): Promise<void> {
    try {
      const thread = await startReaderThread({
        ...this.#options,
        signal: this.#closing.signal,
        onAnswer: (answer) => this.#answered(thread, answer),
        onEnd: (error) => this.#ended(thread, error),
      });
      this.#hasStarted = true;
      this.#hasFailed = false;
      this.#threads.set(thread, null);
      this.#starting = null;
      if (!this.#closing.signal.aborted) this.#dispatch();
    } catch (error) {
      this.#starting = null;
      if (!this.#closing.signal.aborted) this.#failedToStart(error);
    }
  }

  #failedToStart(error: unknown): void {
    if (!this.#hasFailed) this.#report(error);
    this.#hasFailed = true;
    // A temporary lack of file descriptors must not move long reads to the main thread.
    this.#isPossible = this.#hasStarted ||
      (error instanceof DatabaseError && error.kind === "overloaded");
    if (this.#threads.size > 0) return;
    for (const job of this.#takeAll()) {
      job.finish(this.#isPossible ? () => fail(overloaded()) : job.inline);
    }
  }

  #report(error: unknown): void {
    this.#observe({ kind: "reader_thread_failed", database: this.#options.label, error });
  }

  #post(thread: ReaderThread, job: Job): void {
    const { id, statement, bytes, limits, beganAt } = job;
    const { text, values, describe = false } = statement;
    this.#threads.set(thread, job);
    job.thread = thread;
    job.waitedMs = this.#options.clock.elapsedMs() - beganAt;
    const limitMs = limits.timeoutMs - job.waitedMs;
    thread.post({ id, statement: { text, values, describe }, limitMs, maxBytes: bytes.left });
  }

  #answered(thread: ReaderThread, answer: Exclude<ReaderAnswer, string>): void {
    const job = this.#threads.get(thread) ?? null;
    this.#threads.set(thread, null);
    job?.finish(() => outcomeOf(job, answer));
    this.#dispatch();
  }

  #ended(thread: ReaderThread, error: unknown): void {
    const job = this.#threads.get(thread);
    if (!this.#threads.delete(thread) || this.#closing.signal.aborted) return;
    this.#report(error);
    // The read does not run again, because it can have caused the end of the thread.
    job?.finish(() => fail(new DatabaseError("unavailable", error)));
    this.#dispatch();
  }

  #expire(job: Job): void {
    if (job.thread === null) return this.#end(job, overloaded());
    const end = () => job.finish(() => fail(tooSlow("the thread does not answer")));
    job.stopWatch = this.#options.clock.after(graceMs, end);
  }

  #end(job: Job, error: DatabaseError): void {
    this.#queue.remove(job.identity, job);
    job.thread?.cancel(job.id);
    job.finish(() => fail(error));
  }
}

function outcomeOf(job: Job, answer: Exclude<ReaderAnswer, string>): QueryResult {
  if ("result" in answer) {
    job.bytes.left = answer.bytesLeft;
    job.measured(answer.ms);
    return answer.result;
  }
  const cause = new Error(answer.reason);
  // If more than half of the limit was spent in the queue, the service is overloaded.
  if (answer.kind === "too-slow" && job.waitedMs > job.limits.timeoutMs / 2) throw overloaded();
  return fail(answer.kind === null ? cause : new DatabaseError(answer.kind, cause));
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

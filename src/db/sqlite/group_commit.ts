import { AsyncLocalStorage } from "node:async_hooks";
import { afterPendingIo, sleep } from "../../runtime/event_loop.ts";
import type { Statement } from "../../sql/fragment.ts";
import { DatabaseError } from "../database_error.ts";
import type { Connection, QueryResult } from "../driver.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";
import { type BusyRetry, nextDelayMs, retryWhileBusy } from "./busy_retry.ts";
import { SqliteTransaction } from "./sqlite_transaction.ts";
import type { TransactionGuard } from "../transaction_guard.ts";
import { JobQueue, type QueuedJob, unavailable } from "./job_queue.ts";

/** The most jobs that share one commit. */
export const maxJobsPerCommit = 256;

/** Once a group is this old, it takes no further transaction that is likely to wait. */
const waitingMs = 5;

/** Once a group is this old, it commits: reads are not kept waiting by a long row of writes. */
const groupMs = 20;

/** What writes are made of. */
export interface GroupCommitOptions {
  /** The connection that nobody else uses. */
  readonly writer: SqliteConnection;
  /** Knows what runs inside a transaction. */
  readonly guard: TransactionGuard;
  /** How long a job waits for its turn, and a commit for its lock. */
  readonly busyRetry: BusyRetry;
  /** Gives the library's errors their common form. */
  readonly translated: (error: unknown) => unknown;
  /** Called behind every commit. */
  readonly committed: () => void;
}

/** Tells whoever waits for a job that it is done. */
type Acknowledge = () => void;

type Job =
  | QueuedJob & { readonly kind: "statement" | "alone"; readonly run: () => Acknowledge }
  | QueuedJob & { readonly kind: "transaction"; readonly run: () => Promise<Acknowledge> };

/** A job that ran in the open group, and how to tell about it once that is committed. */
interface Ended {
  readonly job: Job;
  readonly tell: () => void;
}

interface Group {
  readonly startedAt: number;
  readonly ended: Ended[];
  /** All jobs so far have waited, so that one more that waits delays nobody else. */
  waitersOnly: boolean;
}

/**
 * Writes of one SQLite file, committed together: each job runs in a savepoint of a transaction that
 * all who came meanwhile share, and nobody hears of a result before the commit. The disk is waited
 * for once in a group instead of once in a write. Jobs run in the order in which they came.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #queue: JobQueue<Job>;
  #running = false;
  #closed = false;
  #idle: (() => void) | null = null;
  /** How many of the jobs to come do not share their commit. */
  #singles = 0;
  /** The last transaction waited for something else than the database: the next may do so too. */
  #expectsWait = false;
  #turn = 0;
  #turnIsWatched = false;

  /** Begins nothing before the first job comes. */
  constructor(options: GroupCommitOptions) {
    const { waitLimitMs, clock } = options.busyRetry;
    this.#options = options;
    this.#queue = new JobQueue(waitLimitMs, clock);
  }

  /** Runs one statement as a job of its own; `alone`, outside of any transaction of ours. */
  write(statement: Statement, kind: "statement" | "alone"): Promise<QueryResult> {
    return new Promise((resolve, reject) => {
      const run = (): Acknowledge => {
        const result = this.#options.writer.run(statement);
        return () => resolve(result);
      };
      this.#enter({ kind, run, reject, enqueuedAt: this.#now() });
    });
  }

  /** Runs `work` as a job: all it writes is committed, or nothing. */
  transaction<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const { writer, guard, translated } = this.#options;
    // The queue is worked off in the context of somebody else.
    const inContext = AsyncLocalStorage.snapshot();
    return new Promise((resolve, reject) => {
      const run = async (): Promise<Acknowledge> => {
        const unit = new SqliteTransaction(writer, translated);
        try {
          const result = await inContext(() => guard.run(() => work(unit)));
          unit.requireAlive();
          return () => resolve(result);
        } finally {
          unit.end();
        }
      };
      this.#enter({ kind: "transaction", run, reject, enqueuedAt: this.#now() });
    });
  }

  /** Takes no more jobs; resolves when those that are there have ended, or took too long. */
  close(): Promise<void> {
    this.#closed = true;
    const { promise, resolve } = Promise.withResolvers<void>();
    const { clock, waitLimitMs } = this.#options.busyRetry;
    const leave = () => {
      cancel();
      this.#queue.rejectAll("it is closed");
      resolve();
    };
    const cancel = clock.after(waitLimitMs, leave);
    this.#idle = leave;
    if (!this.#running) leave();
    return promise;
  }

  #enter(job: Job): void {
    if (this.#closed) return job.reject(unavailable("it is closed"));
    this.#queue.enqueue(job);
    if (this.#running) return;
    this.#running = true;
    afterPendingIo(() => this.#drain());
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) {
      await this.#runNext();
      // Between two groups the requests that have come are read: they make the next one.
      if (this.#queue.length > 0) await new Promise<void>(afterPendingIo);
    }
    this.#running = false;
    this.#idle?.();
  }

  async #runNext(): Promise<void> {
    if (this.#queue.first?.kind === "alone") return await this.#runAlone();
    if (!await this.#begin()) return;
    const group: Group = { startedAt: this.#now(), ended: [], waitersOnly: true };
    try {
      for (let job = this.#next(group); job !== null; job = this.#next(group)) {
        group.ended.push(await this.#runJob(job, group));
        if (!this.#options.writer.inTransaction) return this.#giveUp(group);
      }
      await this.#commit(group);
    } catch (error) {
      // Not even undoing worked. Nothing is committed, everybody is told so, and whoever comes next
      // begins by undoing it.
      for (const { job } of group.ended) job.reject(error);
    }
  }

  /** Takes the job that runs next out of the queue; null when the group is complete. */
  #next({ startedAt, ended, waitersOnly }: Group): Job | null {
    const job = this.#queue.first;
    if (job === undefined || job.kind === "alone") return null;
    if (ended.length > 0) {
      if (this.#singles > 0 || ended.length === maxJobsPerCommit) return null;
      const ageMs = this.#now() - startedAt;
      if (ageMs >= groupMs) return null;
      const mayWait = job.kind === "transaction" && this.#expectsWait;
      // Who waits comes first in a group, so that the others are not kept from their commit.
      if (mayWait && (!waitersOnly || ageMs >= waitingMs)) return null;
    }
    if (this.#singles > 0) this.#singles--;
    return this.#queue.dequeue() ?? null;
  }

  /** Resolves when the job is done or undone. Rejects when SQLite refuses to do either. */
  async #runJob(job: Job, group: Group): Promise<Ended> {
    const { writer, translated } = this.#options;
    try {
      writer.run(savepoint);
      const acknowledge = job.kind === "transaction"
        ? await this.#watch(job.run(), group)
        : job.run();
      writer.run(release);
      if (job.kind !== "transaction") group.waitersOnly = false;
      return { job, tell: acknowledge };
    } catch (error) {
      const reason = translated(error);
      try {
        if (writer.inTransaction) {
          writer.run(rollbackToSavepoint);
          writer.run(release);
        }
      } catch (second) {
        job.reject(reason);
        throw translated(second);
      }
      return { job, tell: () => job.reject(reason) };
    }
  }

  /** Notices whether the work of a transaction waits for more than the database. */
  async #watch(work: Promise<Acknowledge>, group: Group): Promise<Acknowledge> {
    if (!this.#turnIsWatched) {
      this.#turnIsWatched = true;
      afterPendingIo(() => {
        this.#turn++;
        this.#turnIsWatched = false;
      });
    }
    const before = this.#turn;
    try {
      return await work;
    } finally {
      this.#expectsWait = this.#turn !== before;
      if (!this.#expectsWait) group.waitersOnly = false;
    }
  }

  async #commit({ ended }: Group): Promise<void> {
    const { writer, busyRetry, translated } = this.#options;
    try {
      // It can meet a lock only where the file could not be put into WAL mode.
      await retryWhileBusy(busyRetry, () => writer.run(commit));
    } catch (error) {
      this.#rollBack();
      const reason = translated(error);
      // A deferred foreign key is looked at now, and SQLite does not say whose it is.
      const isBroken = reason instanceof DatabaseError && reason.kind === "foreign-key";
      if (isBroken && ended.length > 1) this.#runAgain(ended.map(({ job }) => job), reason);
      else for (const { job } of ended) job.reject(reason);
      return;
    }
    for (const { tell } of ended) tell();
    this.#options.committed();
  }

  /** One job made SQLite roll all of them back: it fails, the others get another chance. */
  #giveUp({ ended }: Group): void {
    const culprit = ended.pop();
    culprit?.tell();
    this.#runAgain(ended.map(({ job }) => job), culprit);
  }

  /**
   * A statement runs again without anybody noticing, since nobody has seen what it gave. The work
   * of a transaction has seen rows and may have acted on them: only its caller knows whether it can
   * run twice, and `transact` is the caller that does. Each then has its commit for itself, so that
   * nobody fails for another's fault a second time.
   */
  #runAgain(jobs: readonly Job[], cause: unknown): void {
    this.#singles = this.#queue.length + jobs.length;
    for (const job of jobs) {
      if (job.kind === "transaction") job.reject(new DatabaseError("retryable", cause));
    }
    this.#queue.putBack(jobs.filter(({ kind }) => kind !== "transaction"));
  }

  async #runAlone(): Promise<void> {
    const { busyRetry, translated } = this.#options;
    const job = this.#queue.dequeue();
    if (job === undefined || job.kind === "transaction") return;
    try {
      (await retryWhileBusy(busyRetry, job.run))();
      this.#options.committed();
    } catch (error) {
      job.reject(translated(error));
    }
  }

  /** False when nobody is left who wants to write, or the first one could not. */
  async #begin(): Promise<boolean> {
    const { writer, busyRetry, translated } = this.#options;
    for (let delayMs = 1; this.#queue.length > 0; delayMs = nextDelayMs(delayMs)) {
      try {
        this.#rollBack();
        writer.run(begin);
        return true;
      } catch (error) {
        if (!busyRetry.isBusy(error)) {
          this.#queue.dequeue()?.reject(translated(error));
          return false;
        }
      }
      await sleep(delayMs);
    }
    return false;
  }

  #rollBack(): void {
    const { writer } = this.#options;
    if (writer.inTransaction) writer.run(rollback);
  }

  #now(): number {
    return this.#options.busyRetry.clock.elapsedMs();
  }
}

const begin = plain("BEGIN IMMEDIATE");
const commit = plain("COMMIT");
const rollback = plain("ROLLBACK");
const savepoint = plain("SAVEPOINT service_job");
const release = plain("RELEASE service_job");
const rollbackToSavepoint = plain("ROLLBACK TO service_job");

function plain(text: string): Statement {
  return { text, values: [] };
}

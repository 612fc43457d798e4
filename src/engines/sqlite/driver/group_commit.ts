import { AsyncLocalStorage } from "node:async_hooks";
import type { MaybePromise } from "../../../runtime/maybe_promise.ts";
import { runAfterPendingIo, sleep } from "../../../runtime/runtime.ts";
import type { Statement } from "../../../sql/fragment.ts";
import { DatabaseError } from "../../../db/database_error.ts";
import type { Connection, QueryResult } from "../../../db/driver.ts";
import type { TransactionGuard } from "../../../db/transact.ts";
import {
  type BusyRetry,
  retryWhileBusy,
  type SqliteConnection,
  SqliteTransaction,
} from "./sqlite_connection.ts";
import {
  type Acknowledge,
  JobGroup,
  JobQueue,
  WaitForecast,
  type WriteJob,
  writeNotStartedError,
} from "./job_queue.ts";
import type { CrossProcessWriteLock } from "./cross_process_write_lock.ts";

/** The maximum time, in ms, that a group without large rows takes, including its disk write. */
const maxShortGroupMs = 10;

export interface GroupCommitOptions {
  readonly writer: SqliteConnection;
  /** Detects a deadlock: a transaction's work that uses the driver instead of the transaction. */
  readonly guard: TransactionGuard;
  readonly busyRetry: BusyRetry;
  readonly translated: (error: unknown) => unknown;
  readonly requireFile: () => void;
  readonly committed: () => void;
  /** Orders the writes of all processes to the file. Null for a file of a single process. */
  readonly turn: CrossProcessWriteLock | null;
}

/** Commits writes together, with one disk wait. No result is reported before the commit. */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #busyRetry: BusyRetry;
  readonly #queue: JobQueue<WriteJob>;
  #running = false;
  #closed = false;
  #idle: (() => void) | null = null;
  #singles = 0;
  readonly #forecast: WaitForecast = new WaitForecast();

  constructor(options: GroupCommitOptions) {
    const { turn, busyRetry } = options;
    const { waitLimitMs, clock } = busyRetry;
    this.#options = options;
    this.#busyRetry = turn === null ? busyRetry : { ...busyRetry, onBusy: () => turn.meetBusy() };
    this.#queue = new JobQueue(waitLimitMs, clock);
  }

  /** Runs a statement as a job. A statement of the kind `alone` runs outside of any transaction. */
  write(statement: Statement, kind: "statement" | "alone"): Promise<QueryResult> {
    return new Promise((resolve, reject) => {
      const run = (): Acknowledge => {
        const result = this.#options.writer.run(statement);
        return () => resolve(result);
      };
      this.#enter({ kind, run, reject, enqueuedAt: this.#now() });
    });
  }

  transaction<T>(
    work: (connection: Connection) => MaybePromise<T>,
    kind: "transaction" | "restructuring" = "transaction",
  ): Promise<T> {
    const { writer, guard, translated } = this.#options;
    // Without `snapshot`, the job could run in the asynchronous context of another request.
    const inContext = AsyncLocalStorage.snapshot();
    return new Promise((resolve, reject) => {
      const run = async (): Promise<Acknowledge> => {
        const unit = new SqliteTransaction(writer, translated);
        try {
          const result = await inContext(() => guard.run(async () => await work(unit)));
          unit.requireAlive();
          return () => resolve(result);
        } finally {
          unit.end();
        }
      };
      this.#enter({ kind, run, reject, enqueuedAt: this.#now() });
    });
  }

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

  #enter(job: WriteJob): void {
    if (this.#closed) return job.reject(writeNotStartedError("it is closed"));
    this.#queue.enqueue(job);
    if (this.#running) return;
    this.#running = true;
    runAfterPendingIo(() => this.#drain());
  }

  async #drain(): Promise<void> {
    const { turn } = this.#options;
    while (this.#queue.length > 0) {
      if (turn !== null) await turn.take();
      const startedAt = this.#now();
      await this.#runNext();
      turn?.release();
      if (this.#queue.length === 0) break;
      // Between two groups, Deno reads the sockets for requests that can form the next group. After
      // a long group (with large rows), Deno reads all sockets only if a real timer runs.
      const isLong = this.#now() - startedAt > maxShortGroupMs;
      await (isLong ? sleep(0) : new Promise<void>(runAfterPendingIo));
    }
    this.#running = false;
    this.#idle?.();
  }

  async #runNext(): Promise<void> {
    if (this.#queue.first?.kind === "alone") return await this.#runAlone();
    if (this.#queue.first?.kind === "restructuring") return await this.#restructure();
    if (!await this.#begin()) return;
    const group = this.#newGroup();
    try {
      for (let job = this.#next(group); job !== null; job = this.#next(group)) {
        await group.run(job);
        if (!this.#options.writer.inTransaction) return this.#giveUp(group);
      }
      await this.#commit(group);
    } catch (error) {
      // If even the rollback fails, nothing is committed. The next group starts with a rollback.
      for (const { job } of group.finished) job.reject(error);
    }
  }

  #next(group: JobGroup): WriteJob | null {
    const job = this.#queue.first;
    const isLone = job?.kind === "alone" || job?.kind === "restructuring";
    if (job === undefined || isLone || !group.takes(job)) return null;
    if (this.#singles > 0) {
      if (group.finished.length > 0) return null;
      this.#singles--;
    }
    return this.#queue.dequeue() ?? null;
  }

  async #commit({ finished, hasResults }: JobGroup): Promise<void> {
    const { writer, busyRetry, translated, turn } = this.#options;
    try {
      // A commit can meet a lock only if the file could not be put into WAL mode.
      await retryWhileBusy(busyRetry, () => writer.run(hasResults ? commit : rollback));
    } catch (error) {
      this.#rollBack();
      const reason = translated(error);
      // The commit checks deferred foreign keys. SQLite does not report which job broke a key.
      const isBroken = reason instanceof DatabaseError && reason.kind === "foreign-key";
      if (isBroken && finished.length > 1) this.#runAgain(finished.map(({ job }) => job), reason);
      else for (const { job } of finished) job.reject(reason);
      return;
    }
    // Releases the lock before the responses are written: other processes may wait for the lock.
    turn?.release();
    for (const { report } of finished) report();
    this.#options.committed();
  }

  /** Rejects the last job, which made SQLite roll back the transaction. Other jobs run again. */
  #giveUp({ finished }: JobGroup): void {
    const culprit = finished.pop();
    culprit?.report();
    this.#runAgain(finished.map(({ job }) => job), culprit);
  }

  /** Rejects transactions, which only the caller (`transact`) can retry. Statements run again. */
  #runAgain(jobs: readonly WriteJob[], cause: unknown): void {
    this.#singles = this.#queue.length + jobs.length;
    for (const job of jobs) {
      if (job.kind === "transaction") job.reject(new DatabaseError("retryable", cause));
    }
    this.#queue.putBack(jobs.filter(({ kind }) => kind !== "transaction"));
  }

  /** Runs a job with foreign keys off: otherwise dropping a table deletes rows that refer to it. */
  async #restructure(): Promise<void> {
    const job = this.#queue.dequeue();
    if (job?.kind !== "restructuring") return;
    const { writer, translated, committed, requireFile } = this.#options;
    try {
      requireFile();
      this.#rollBack();
      writer.run(keysOff);
      // Another process can take long to alter large tables, so this wait has no limit.
      await retryWhileBusy({ ...this.#busyRetry, waitLimitMs: Infinity }, () => writer.run(begin));
      const report = await job.run();
      await retryWhileBusy(this.#busyRetry, () => writer.run(commit));
      report();
      committed();
    } catch (error) {
      job.reject(translated(error));
    } finally {
      this.#rollBack();
      for (const statement of usual) writer.run(statement);
    }
  }

  async #runAlone(): Promise<void> {
    const job = this.#queue.dequeue();
    if (job?.kind !== "alone") return;
    try {
      this.#options.requireFile();
      (await retryWhileBusy(this.#busyRetry, job.run))();
      this.#options.committed();
    } catch (error) {
      job.reject(this.#options.translated(error));
    }
  }

  async #begin(): Promise<boolean> {
    const { writer, translated, requireFile } = this.#options;
    try {
      // This wait needs no limit: a job leaves the queue when its own time limit has passed.
      return await retryWhileBusy({ ...this.#busyRetry, waitLimitMs: Infinity }, () => {
        if (this.#queue.length === 0) return false;
        requireFile();
        this.#rollBack();
        writer.run(begin);
        return true;
      });
    } catch (error) {
      this.#queue.dequeue()?.reject(translated(error));
      return false;
    }
  }

  #rollBack(): void {
    const { writer } = this.#options;
    if (writer.inTransaction) writer.run(rollback);
  }

  #newGroup(): JobGroup {
    const { writer, translated, busyRetry: { clock } } = this.#options;
    return new JobGroup({ writer, clock, translated, forecast: this.#forecast });
  }

  #now(): number {
    return this.#options.busyRetry.clock.elapsedMs();
  }
}

const begin: Statement = { text: "BEGIN IMMEDIATE", values: [] };
const commit: Statement = { text: "COMMIT", values: [] };
const rollback: Statement = { text: "ROLLBACK", values: [] };
const keysOff: Statement = { text: "PRAGMA foreign_keys = OFF", values: [] };
const usual: readonly Statement[] = [
  { text: "PRAGMA foreign_keys = ON", values: [] },
  { text: "PRAGMA legacy_alter_table = OFF", values: [] },
];

import { afterPendingIo } from "../../../runtime/event_loop.ts";
import type { Statement } from "../../../sql/fragment.ts";
import type { QueryResult } from "../../../db/driver.ts";
import { isStalePlan } from "./postgres_errors.ts";
import type { PostgresReadParts } from "./postgres_reads.ts";
import { openConnection, run, translated } from "./run_statement.ts";

/** The dependencies of {@link SharedReads}. */
export interface SharedReadsParts
  extends Pick<PostgresReadParts, "pool" | "clock" | "limit" | "raisedMessages"> {
  /** Runs a statement on a separate connection. */
  readonly alone: (statement: Statement) => Promise<QueryResult>;
}

/** A read that waits for its result. */
interface WaitingRead {
  readonly statement: Statement;
  readonly resolve: (result: QueryResult | Promise<QueryResult>) => void;
  readonly reject: (error: unknown) => void;
  isOver: boolean;
}

/** The maximum number of connections that run shared reads at the same time. */
const maxConnections = 2;

/** The maximum number of reads that are sent together. */
const maxReads = 32;

/** After this time, a read that still waits runs again on a separate connection. */
const maxWaitMs = 100;

/**
 * Runs reads of one row by its key. Concurrent reads share a connection and are sent without
 * waiting for each response, which needs fewer messages and fewer switches between processes. Each
 * read has its own result or error. A read that waits too long for another one, for example because
 * a table is locked, runs again on a separate connection.
 */
export class SharedReads {
  readonly #parts: SharedReadsParts;
  readonly #waiting: WaitingRead[] = [];
  /** The number of connections that run shared reads. */
  #running = 0;
  /** True if the last reads were sent together. More reads may then be arriving. */
  #isBusy = false;

  /** Creates the reader of a driver. */
  constructor(parts: SharedReadsParts) {
    this.#parts = parts;
  }

  query(statement: Statement): Promise<QueryResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ statement, resolve, reject, isOver: false });
      this.#start();
    });
  }

  #start(): void {
    if (this.#running >= maxConnections || this.#waiting.length === 0) return;
    this.#running++;
    void this.#runWaiting();
  }

  async #runWaiting(): Promise<void> {
    if (this.#isBusy) await new Promise<void>((resolve) => afterPendingIo(resolve));
    const reads = this.#waiting.splice(0, maxReads);
    this.#isBusy = reads.length > 1;
    let isCounted = true;
    const end = () => {
      if (!isCounted) return;
      isCounted = false;
      this.#running--;
      this.#start();
    };
    const endWatch = this.#parts.clock.after(maxWaitMs, () => {
      // The first read without a result is running. The other reads wait for it.
      for (const read of reads.filter(({ isOver }) => !isOver).slice(1)) this.#runAlone(read);
      end();
    });
    await this.#runTogether(reads);
    endWatch();
    end();
  }

  async #runTogether(reads: readonly WaitingRead[]): Promise<void> {
    if (reads.length === 0) return;
    const { pool, limit } = this.#parts;
    const deadline = limit();
    try {
      const session = await pool.acquire("read by key");
      try {
        const connection = await openConnection(session, deadline);
        // Some reads may have run elsewhere while no connection was free.
        const open = reads.filter(({ isOver }) => !isOver);
        await Promise.all(open.map(async (read) => {
          try {
            const result = await run(connection, read.statement, true);
            read.isOver = true;
            read.resolve(result);
          } catch (error) {
            if (connection.lost || isStalePlan(error)) this.#runAlone(read);
            else this.#fail(read, error);
          }
        }));
      } finally {
        pool.release(session);
      }
    } catch (error) {
      for (const read of reads) this.#fail(read, error);
    }
  }

  #fail(read: WaitingRead, error: unknown): void {
    if (read.isOver) return;
    read.isOver = true;
    read.reject(translated(error, read.statement, "read", this.#parts.raisedMessages));
  }

  /** Runs a read again that has no result yet. */
  #runAlone(read: WaitingRead): void {
    if (read.isOver) return;
    read.isOver = true;
    read.resolve(this.#parts.alone(read.statement));
  }
}

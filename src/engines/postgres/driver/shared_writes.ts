import { runAfterPendingIo } from "../../../runtime/runtime.ts";
import type { Statement } from "../../../sql/fragment.ts";
import type { Connection, QueryResult } from "../../../db/driver.ts";
import type { PostgresConnection } from "./postgres_connection.ts";
import type { PostgresReadDependencies } from "./postgres_reads.ts";
import { runStatement, translate, whenOpen, writesRows } from "./run_statement.ts";
import { sharedBegin } from "../connection/session_settings.ts";

export interface SharedWritesDependencies
  extends Pick<PostgresReadDependencies, "guard" | "pool" | "clock" | "limit" | "raisedMessages"> {
  readonly alone: (statement: Statement) => Promise<QueryResult>;
  /** Called after the commit of a shared transaction, even if the commit's outcome is unknown. */
  readonly committed: () => void;
}

interface WaitingWrite {
  readonly statement: Statement;
  readonly resolve: (result: QueryResult) => void;
  readonly reject: (error: unknown) => void;
}

const maxWrites = 64;

/** The maximum total length of the strings that a shared transaction binds, in characters. */
const maxLength = 256 * 1024;

const maxSeparate = 2;

/** The time after which writes no longer wait for the running transaction, in milliseconds. */
const maxWaitMs = 300;

/** How many writes run alone after a failed or slow transaction: at first, and at most. */
const [firstAlone, maxAlone] = [8, 512];

/**
 * Runs single-statement writes. Concurrent writes share a pipelined transaction.
 *
 * If a statement fails and the server has confirmed the rollback, each write runs again alone. If
 * the connection is lost, the outcome of all these writes is unknown, and no write runs again.
 */
export class SharedWrites implements Connection {
  readonly #parts: SharedWritesDependencies;
  #waiting: WaitingWrite[] = [];
  #running = 0;
  #isSharing = false;
  #late = 0;
  /** True if the last transaction had more than one write, so that more writes can follow soon. */
  #isBusy = false;
  #alone = 0;
  #aloneAfterFailure = firstAlone;

  constructor(parts: SharedWritesDependencies) {
    this.#parts = parts;
  }

  query(statement: Statement): Promise<QueryResult> {
    if (!this.#mayShare(statement)) return this.#parts.alone(statement);
    this.#parts.guard.check();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ statement, resolve, reject });
      if (this.#running < maxSeparate && !this.#isSharing) {
        this.#running++;
        void this.#runWaiting();
      }
    });
  }

  #mayShare({ text }: Statement): boolean {
    if (!writesRows.test(text) || this.#late > 0) return false;
    if (this.#alone === 0) return true;
    this.#alone--;
    return false;
  }

  #backOff(): void {
    this.#alone = this.#aloneAfterFailure;
    this.#aloneAfterFailure = Math.min(maxAlone, 2 * this.#aloneAfterFailure);
  }

  async #runWaiting(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#isSharing) {
      if (this.#isBusy) await this.#gather();
      // Another loop can have begun a shared transaction during the wait.
      if (this.#isSharing) break;
      const writes = this.#take();
      this.#isBusy = writes.length > 1;
      const [first, ...others] = writes;
      if (first === undefined) break;
      if (others.length === 0) await this.#runAlone(first);
      else {
        this.#isSharing = true;
        await this.#runTogether(writes);
        this.#isSharing = false;
      }
    }
    this.#running--;
  }

  async #gather(): Promise<void> {
    let count = 0;
    while (this.#waiting.length > count && this.#waiting.length < maxWrites) {
      count = this.#waiting.length;
      await new Promise<void>((resolve) => runAfterPendingIo(resolve));
    }
  }

  #take(): readonly WaitingWrite[] {
    let [count, length] = [0, 0];
    for (const { statement: { values } } of this.#waiting) {
      for (const value of values) length += typeof value === "string" ? value.length : 8;
      if (count === maxWrites || (count > 0 && length > maxLength)) break;
      count++;
    }
    return this.#waiting.splice(0, count);
  }

  async #runAlone({ statement, resolve, reject }: WaitingWrite): Promise<void> {
    const late = this.#watchTime();
    await this.#parts.alone(statement).then(resolve, reject);
    late.end();
  }

  async #runTogether(writes: readonly WaitingWrite[]): Promise<void> {
    const { pool, limit, committed } = this.#parts;
    const late = this.#watchTime();
    const deadline = limit();
    let sent: SentTransaction;
    let isLate = false;
    try {
      const session = await pool.acquire("shared write");
      try {
        sent = await this.#send(writes, await whenOpen(session, deadline));
      } finally {
        pool.release(session);
      }
    } catch (error) {
      // No statement was sent, so no write has happened.
      for (const { reject } of writes) reject(error);
      return;
    } finally {
      isLate = late.end();
    }
    const { outcome, results } = sent;
    if (isLate || outcome === "rolled back") this.#backOff();
    else this.#aloneAfterFailure = firstAlone;
    if (outcome === "rolled back") {
      for (const { statement, resolve, reject } of writes) {
        void this.#parts.alone(statement).then(resolve, reject);
      }
      return;
    }
    committed();
    for (const [index, { statement, resolve, reject }] of writes.entries()) {
      const result = results[index];
      if (result?.status === "fulfilled") resolve(result.value);
      else reject(translate(result?.reason, statement, "write", this.#parts.raisedMessages));
    }
  }

  async #send(
    writes: readonly WaitingWrite[],
    connection: PostgresConnection,
  ): Promise<SentTransaction> {
    const began = connection.run(sharedBegin, [], true);
    const statements = writes.map(({ statement }) => runStatement(connection, statement, true));
    const ended = connection.run("COMMIT", [], true);
    const [[begin, commit], results] = await Promise.all([
      Promise.allSettled([began, ended]),
      Promise.allSettled(statements),
    ]);
    // After a failed statement, the server responds to COMMIT with ROLLBACK.
    const ending = commit.status === "fulfilled" ? commit.value.command : null;
    if (ending === "ROLLBACK") return { outcome: "rolled back", results };
    // If BEGIN has failed, each statement ran as a separate transaction.
    if (begin.status === "rejected") return { outcome: "separate", results };
    if (connection.lost) {
      const [reason] = [commit, ...results].flatMap((one) =>
        one.status === "rejected" ? [one.reason] : []
      );
      return {
        outcome: "unknown",
        results: writes.map(() => ({ status: "rejected" as const, reason })),
      };
    }
    return ending === "COMMIT" && results.every(({ status }) => status === "fulfilled")
      ? { outcome: "committed", results }
      : { outcome: "rolled back", results };
  }

  #watchTime(): { readonly end: () => boolean } {
    let isLate = false;
    const cancel = this.#parts.clock.after(maxWaitMs, () => {
      isLate = true;
      this.#late++;
      for (const write of this.#waiting.splice(0)) {
        void this.#parts.alone(write.statement).then(write.resolve, write.reject);
      }
    });
    return {
      end: () => {
        cancel();
        if (isLate) this.#late--;
        return isLate;
      },
    };
  }
}

type Outcome<Value> =
  | { readonly status: "fulfilled"; readonly value: Value }
  | { readonly status: "rejected"; readonly reason: unknown };

interface SentTransaction {
  /** `separate`: the server has rejected BEGIN, so each statement was a separate transaction. */
  readonly outcome: "committed" | "rolled back" | "separate" | "unknown";
  readonly results: readonly Outcome<QueryResult>[];
}

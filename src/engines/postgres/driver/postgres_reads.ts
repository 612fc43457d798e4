import type { Deadline } from "../../../runtime/runtime.ts";
import type { Statement } from "../../../sql/fragment.ts";
import { DatabaseError, type DatabaseErrorKind } from "../../../db/database_error.ts";
import type { Connection, DatabaseIdentity, QueryResult, ReadLimits } from "../../../db/driver.ts";
import { type ReadLimiter, watchRead } from "../../../db/read_limiter.ts";
import { bytesOfRow } from "../../../db/row_bytes.ts";
import type { TransactionGuard } from "../../../db/transact.ts";
import type { PostgresConnection, PostgresSession } from "./postgres_connection.ts";
import type { SharedReads, SharedReadsDependencies } from "./shared_reads.ts";
import { toPostgresText, toQueryResult, translate, whenOpen } from "./run_statement.ts";

export interface PostgresReadDependencies extends SharedReadsDependencies {
  readonly guard: TransactionGuard;
  readonly connect: (session: PostgresSession, limit: Deadline) => Promise<PostgresConnection>;
  readonly turns: ReadLimiter;
  /** Runs quick reads of several requests on one connection. Null without pipelining. */
  readonly shared: SharedReads | null;
  readonly identity?: DatabaseIdentity;
  readonly sharedTurns: ReadLimiter;
}

export class PostgresReads implements Connection {
  readonly #parts: PostgresReadDependencies;
  readonly #limits: ReadLimits;
  #bytes = 0;

  constructor(parts: PostgresReadDependencies, limits: ReadLimits) {
    this.#parts = parts;
    this.#limits = limits;
  }

  async query(statement: Statement): Promise<QueryResult> {
    this.#parts.guard.check();
    return await this.#shared(statement) ?? await this.#alone(statement);
  }

  async #shared(statement: Statement): Promise<QueryResult | null> {
    const { shared, sharedTurns, identity } = this.#parts;
    if (shared === null || !shared.isQuick(statement)) return null;
    const { maxBytes } = this.#limits;
    let bytes = 0;
    const turn = await sharedTurns.enter(this.#limits);
    try {
      const result = await shared.read(statement, (row) => {
        bytes += bytesOfRow(row);
        return this.#bytes + bytes <= maxBytes;
      }, identity);
      if (result === null) return null;
      this.#bytes += bytes;
      if (this.#bytes > maxBytes) throw tooLarge();
      return result;
    } finally {
      sharedTurns.leave(turn);
    }
  }

  async #alone(statement: Statement): Promise<QueryResult> {
    const { turns, clock } = this.#parts;
    const limit = this.#parts.limit();
    const beganAt = clock.elapsedMs();
    const turn = await turns.enter(this.#limits);
    try {
      return await this.#inTurn(statement, { limit, beganAt });
    } finally {
      turns.leave(turn);
    }
  }

  async #inTurn(
    statement: Statement,
    { limit, beganAt }: { readonly limit: Deadline; readonly beganAt: number },
  ): Promise<QueryResult> {
    const { pool, clock, connect, raisedMessages } = this.#parts;
    const session = await pool.acquire("read");
    try {
      const connection = await connect(session, limit);
      const waitedMs = clock.elapsedMs() - beganAt;
      return await this.#read(statement, { session, connection, waitedMs });
    } catch (error) {
      const known = translate(error, statement, "read", raisedMessages);
      // The server has its own time limit, which can be shorter than the limit of the request.
      const isLate = known instanceof DatabaseError && known.kind === "timeout";
      throw isLate ? new DatabaseError("too-slow", error) : known;
    } finally {
      pool.release(session);
    }
  }

  async #read(statement: Statement, { session, connection, waitedMs }: {
    readonly session: PostgresSession;
    readonly connection: PostgresConnection;
    readonly waitedMs: number;
  }): Promise<QueryResult> {
    let stopped: DatabaseError | null = null;
    let cancelled: Promise<void> | null = null;
    let isLate = false;
    const stop = (reason: DatabaseError): void => {
      stopped ??= reason;
      cancelled ??= read.cancel();
    };
    const { shared, clock } = this.#parts;
    const { maxBytes, timeoutMs } = this.#limits;
    const beganAt = clock.elapsedMs();
    const read = connection.read(statement.text, statement.values.map(toPostgresText), (row) => {
      this.#bytes += bytesOfRow(row);
      if (this.#bytes <= maxBytes) return true;
      stop(tooLarge());
      return false;
    });
    const endWatch = watchRead(this.#limits, timeoutMs - waitedMs, clock, (why) => {
      if (why === "left") stop(ended("too-slow", "its client has left"));
      // The read waited for more than half of the time. The read itself may be fast.
      else if (waitedMs > timeoutMs / 2) {
        stop(ended("overloaded", "most of its time it has waited"));
      } else {
        isLate = true;
        stop(ended("too-slow", "it took too long"));
      }
    });
    try {
      const result = await read.result;
      if (stopped !== null) throw stopped;
      shared?.measured(statement, clock.elapsedMs() - beganAt);
      return toQueryResult(result, statement);
    } catch (error) {
      await cancelled;
      // The read only waited for the lock of a table, so the request is not the cause.
      if (isLate && await this.#isBlocked(session, statement)) {
        throw ended("unavailable", "another session locks the table");
      }
      throw stopped ?? error;
    } finally {
      endWatch();
      // A cancel request that has not ended could cancel the session's next statement.
      await cancelled;
    }
  }

  /** Returns true if a statement waits for the lock of a table. EXPLAIN then waits as well. */
  async #isBlocked(session: PostgresSession, { text, values }: Statement): Promise<boolean> {
    // Canceling the read can have closed the connection. The session then opens another one.
    const connection = await whenOpen(session, this.#parts.limit()).catch(() => null);
    if (connection === null) return false;
    let cancelled: Promise<void> | null = null;
    const plan = connection.read(`EXPLAIN ${text}`, values.map(toPostgresText), () => true);
    const stop = this.#parts.clock.after(explainLimitMs, () => cancelled = plan.cancel());
    await plan.result.catch(() => {});
    stop();
    await cancelled;
    return cancelled !== null;
  }
}

/** An EXPLAIN that takes longer than this, in milliseconds, certainly waits for a lock. */
const explainLimitMs = 1_000;

function tooLarge(): DatabaseError {
  return ended("too-large", "its rows have too many bytes");
}

function ended(kind: DatabaseErrorKind, reason: string): DatabaseError {
  return new DatabaseError(kind, new Error(`The read was ended: ${reason}`));
}

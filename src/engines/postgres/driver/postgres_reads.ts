import type { Clock } from "../../../runtime/runtime.ts";
import type { Deadline } from "../../../runtime/deadline.ts";
import type { Statement } from "../../../sql/fragment.ts";
import { DatabaseError, type DatabaseErrorKind } from "../../../db/database_error.ts";
import type { Connection, QueryResult, ReadLimits } from "../../../db/driver.ts";
import type { ReadLimiter } from "../../../db/read_limiter.ts";
import { bytesOfRow } from "../../../db/row_bytes.ts";
import type { TransactionGuard } from "../../../db/transact.ts";
import { watchRead } from "../../../db/watch_read.ts";
import type { Pool } from "./connection_pool.ts";
import type { PostgresConnection, PostgresSession } from "./postgres_connection.ts";
import { openConnection, toPostgresText, toQueryResult, translated } from "./run_statement.ts";

/** The objects that the reads of all requests in a Postgres driver share. */
export interface PostgresReadParts {
  readonly guard: TransactionGuard;
  readonly pool: Pool<PostgresSession>;
  /** Limits which reads may use a session of the pool at the same time. */
  readonly turns: ReadLimiter;
  /** Returns a new deadline for obtaining a session and its connection. */
  readonly limit: () => Deadline;
  readonly clock: Clock;
  /** True if clients see the messages of RAISE. */
  readonly raisedMessages: boolean;
}

interface Waiting {
  readonly limit: Deadline;
  readonly beganAt: number;
}

/**
 * The connection for the reads of one request to Postgres. Each read waits until the limiter admits
 * it, and then for a session of the pool. A read beyond its limits is canceled on the server.
 */
export class PostgresReads implements Connection {
  readonly #parts: PostgresReadParts;
  readonly #limits: ReadLimits;
  #bytes = 0;

  constructor(parts: PostgresReadParts, limits: ReadLimits) {
    this.#parts = parts;
    this.#limits = limits;
  }

  async query(statement: Statement): Promise<QueryResult> {
    const { guard, turns, clock } = this.#parts;
    guard.check();
    const limit = this.#parts.limit();
    const beganAt = clock.elapsedMs();
    const turn = await turns.enter(this.#limits);
    try {
      return await this.#inTurn(statement, { limit, beganAt });
    } finally {
      turns.leave(turn);
    }
  }

  async #inTurn(statement: Statement, { limit, beganAt }: Waiting): Promise<QueryResult> {
    const { pool, clock, raisedMessages } = this.#parts;
    const session = await pool.acquire("read");
    try {
      const connection = await openConnection(session, limit);
      return await this.#read(connection, statement, clock.elapsedMs() - beganAt);
    } catch (error) {
      const known = translated(error, statement, "read", raisedMessages);
      // The server also has a time limit, which may be shorter than the limit of the request.
      const isLate = known instanceof DatabaseError && known.kind === "timeout";
      throw isLate ? new DatabaseError("too-slow", error) : known;
    } finally {
      pool.release(session);
    }
  }

  async #read(
    connection: PostgresConnection,
    statement: Statement,
    waitedMs: number,
  ): Promise<QueryResult> {
    let stopped: DatabaseError | null = null;
    let cancelled: Promise<void> | null = null;
    const stop = (kind: DatabaseErrorKind, reason: string): void => {
      stopped ??= new DatabaseError(kind, new Error(`The read was ended: ${reason}`));
      cancelled ??= read.cancel();
    };
    const { maxBytes, timeoutMs } = this.#limits;
    const read = connection.read(statement.text, statement.values.map(toPostgresText), (row) => {
      this.#bytes += bytesOfRow(row);
      if (this.#bytes <= maxBytes) return true;
      stop("too-large", "its rows have too many bytes");
      return false;
    });
    const endWatch = watchRead(this.#limits, timeoutMs - waitedMs, this.#parts.clock, (why) => {
      if (why === "left") stop("too-slow", "its client has left");
      // More than half of the read's time was spent waiting, so the read itself may be fast.
      else if (waitedMs > timeoutMs / 2) stop("overloaded", "most of its time it has waited");
      else stop("too-slow", "it took too long");
    });
    try {
      const result = await read.result;
      if (stopped !== null) throw stopped;
      return toQueryResult(result, statement);
    } catch (error) {
      throw stopped ?? error;
    } finally {
      endWatch();
      // Until the cancel request has ended, it could cancel the session's next statement.
      await cancelled;
    }
  }
}

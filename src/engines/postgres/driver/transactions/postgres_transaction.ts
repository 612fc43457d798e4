import type { Deadline } from "../../../../runtime/runtime.ts";
import type { MaybePromise } from "../../../../runtime/maybe_promise.ts";
import type { Statement } from "../../../../sql/fragment.ts";
import { DatabaseError } from "../../../../db/database_error.ts";
import type { Connection, QueryResult } from "../../../../db/driver.ts";
import type { CommitListeners, TransactionGuard } from "../../../../db/transact.ts";
import type { PostgresConnection, PostgresResult } from "../postgres_connection.ts";
import { toPostgresError } from "../postgres_errors.ts";
import { needsWriting, runStatement, translate } from "../run_statement.ts";

export interface TransactionParts {
  readonly guard: TransactionGuard;
  readonly commits: CommitListeners;
  readonly raisedMessages: boolean;
}

export type RunInTransaction = (
  connection: PostgresConnection,
  statement: Statement,
) => Promise<QueryResult>;

export async function begin(connection: PostgresConnection, limit: Deadline): Promise<void> {
  try {
    await limit.within(connection.run("BEGIN", []));
  } catch (error) {
    // The server can still run BEGIN later. The next request would then write in this transaction.
    connection.drop();
    throw toPostgresError(error, "read");
  }
}

export async function runTransaction<T>(
  connection: PostgresConnection,
  work: (connection: Connection) => MaybePromise<T>,
  { guard, commits, raisedMessages }: TransactionParts,
  run: RunInTransaction = runStatement,
): Promise<T> {
  const unit = new PostgresTransaction(connection, raisedMessages, run);
  let done: PostgresResult | null = null;
  try {
    const result = await guard.run(async () => await work(unit));
    await unit.end();
    done = await commit(connection, raisedMessages, unit.changesSession);
    // After a failed statement, the server responds to COMMIT with ROLLBACK, and without an error.
    if (done.command === "ROLLBACK") throw unit.failure;
    commits.notify();
    return result;
  } catch (error) {
    if (done === null) await unit.abandon();
    throw error;
  }
}

async function commit(
  connection: PostgresConnection,
  raisedMessages: boolean,
  changesSession: boolean,
): Promise<PostgresResult> {
  try {
    return await (changesSession ? connection.end("COMMIT") : connection.run("COMMIT", []));
  } catch (error) {
    throw toPostgresError(error, "commit", raisedMessages);
  }
}

export async function rollBack(
  connection: PostgresConnection,
  changesSession = false,
): Promise<unknown> {
  if (connection.lost) return null;
  const ended = changesSession ? connection.end("ROLLBACK") : connection.run("ROLLBACK", []);
  return await ended.then(() => null, (error) => {
    connection.drop();
    return error;
  });
}

class PostgresTransaction implements Connection {
  readonly #connection: PostgresConnection;
  readonly #raisedMessages: boolean;
  readonly #runStatement: RunInTransaction;
  changesSession = false;
  #ended = false;
  #failure: unknown = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(connection: PostgresConnection, raisedMessages: boolean, run: RunInTransaction) {
    this.#connection = connection;
    this.#raisedMessages = raisedMessages;
    this.#runStatement = run;
  }

  get failure(): unknown {
    return this.#failure ?? new DatabaseError("other", new Error("The server rolled back"));
  }

  /** Runs one statement at a time, so that a lost connection affects only one statement. */
  query(statement: Statement): Promise<QueryResult> {
    if (this.#ended) return Promise.reject(new Error("Cannot query: the transaction has ended"));
    const result = this.#last.then(() => this.#run(statement));
    this.#last = result.catch((error) => this.#failure ??= error);
    return result;
  }

  async #run(statement: Statement): Promise<QueryResult> {
    this.changesSession ||= statement.changesSession === true;
    try {
      return await this.#runStatement(this.#connection, statement);
    } catch (error) {
      // Nothing is committed yet, so a lost connection cannot leave an unknown outcome.
      const sent = needsWriting.test(statement.text) ? "part" : "read";
      throw translate(error, statement, sent, this.#raisedMessages);
    }
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.#last;
    if (!this.#connection.lost) return;
    throw new DatabaseError("unavailable", new Error("The connection was lost in a transaction"));
  }

  async abandon(): Promise<void> {
    this.#ended = true;
    await this.#last;
    const failure = await rollBack(this.#connection, this.changesSession);
    this.#failure ??= failure;
  }
}

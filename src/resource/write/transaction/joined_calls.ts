import { AsyncLocalStorage } from "node:async_hooks";
import { DatabaseError } from "../../../db/database_error.ts";
import { runInSavepoint, transactionHandle } from "../../../db/database_handle.ts";
import type { Connection, Driver, QueryResult, ReadLimits } from "../../../db/driver.ts";
import { catching, type MaybePromise } from "../../../runtime/maybe_promise.ts";
import type { Statement } from "../../../sql/fragment.ts";
import type { OpenTransaction, TransactionPart } from "../../model/resource.ts";

export interface Joinable<Notes> extends Connection {
  takeOver(notes: Notes): void;
}

/** Calls by server-side code in an open transaction, one after the other, each in a savepoint. */
export class JoinedCalls<Notes> implements OpenTransaction {
  readonly base: Driver;
  readonly #driver: Driver;
  readonly #around: Joinable<Notes>;
  readonly #depth: number;
  readonly #inPart = new AsyncLocalStorage<true>();
  #isOpen = true;
  #last: Promise<unknown> = Promise.resolve();

  constructor(driver: Driver, around: Joinable<Notes>, depth = 1) {
    this.base = driver.base ?? driver;
    this.#driver = driver;
    this.#around = around;
    this.#depth = depth;
  }

  join<T>(work: (part: TransactionPart) => Promise<T>, isSystem = false): Promise<T> {
    // Each call waits for the previous call, so a call within a call would wait forever.
    if (this.#inPart.getStore() === true) return Promise.reject(usedInPart());
    const turn = this.#last.then(() => this.#run(work, isSystem));
    this.#last = turn.catch(() => {});
    return turn;
  }

  /** Resolves when no call is running, including calls that no code awaits. */
  async idle(): Promise<void> {
    for (let last; last !== this.#last;) await (last = this.#last);
  }

  /** Rejects further calls, and further statements of running calls. */
  close(): void {
    this.#isOpen = false;
  }

  async #run<T>(
    work: (part: TransactionPart) => Promise<T>,
    isSystem: boolean,
  ): Promise<T> {
    if (!this.#isOpen) throw hasEnded();
    const savepoint = `call_${this.#depth}`;
    const { base } = this;
    const acts = this.#driver.as !== undefined && this.#driver !== base;
    const connection = new PartConnection(
      this.#around,
      () => this.#isOpen,
      acts && isSystem,
    );
    const driver = new PartDriver(base, connection, savepoint, acts && !isSystem);
    const within = new JoinedCalls(driver, connection, this.#depth + 1);
    const part: TransactionPart = {
      driver,
      within,
      handle: (plans) => transactionHandle(connection, driver.dialect, plans),
    };
    const runPart = async () => {
      try {
        const result = await work(part);
        await within.idle();
        return result;
      } finally {
        within.close();
        connection.close();
      }
    };
    try {
      return await this.#inPart.run(
        true,
        () => runInSavepoint(this.#around, savepoint, runPart),
      );
    } catch (error) {
      throw error instanceof LostTransaction ? error.cause : error;
    }
  }
}

export class PartConnection<Notes> implements Joinable<Notes> {
  readonly #around: Joinable<Notes>;
  readonly #isAroundOpen: () => boolean;
  readonly #isSystem: boolean;
  #isOpen = true;

  /** `isSystem` is true for a call with the service's rights in a transaction of a user's role. */
  constructor(around: Joinable<Notes>, isAroundOpen: () => boolean, isSystem: boolean) {
    this.#around = around;
    this.#isAroundOpen = isAroundOpen;
    this.#isSystem = isSystem;
  }

  query(statement: Statement): MaybePromise<QueryResult> {
    if (!this.#isOpen || !this.#isAroundOpen()) return Promise.reject(hasEnded());
    return catching(
      () => this.#around.query(this.#isSystem ? { ...statement, isSystem: true } : statement),
      (error) => Promise.reject(lost(error)),
    );
  }

  takeOver(notes: Notes): void {
    this.#around.takeOver(notes);
  }

  close(): void {
    this.#isOpen = false;
  }
}

/** The driver of one part (savepoint) of an open transaction, in place of the database's driver. */
export class PartDriver implements Driver {
  readonly base: Driver;
  readonly dialect: Driver["dialect"];
  readonly label: string;
  readonly isShared: boolean;
  readonly signals = null;
  /** Returns this driver. Absent if the transaction has the service's role, not a user's role. */
  readonly as?: () => Driver;
  readonly #connection: Connection;
  readonly #savepoint: string;

  /** `acts` is true if the transaction has the role of the user who makes the calls. */
  constructor(base: Driver, connection: Connection, savepoint: string, acts = false) {
    this.base = base;
    if (acts) this.as = () => this;
    this.dialect = base.dialect;
    this.label = base.label;
    this.isShared = base.isShared;
    this.#connection = connection;
    this.#savepoint = savepoint;
  }

  /** Runs a statement. If it fails, rolls back to the savepoint, as Postgres requires. */
  query(statement: Statement): MaybePromise<QueryResult> {
    return catching(() => this.#connection.query(statement), (error) => this.#undo(error));
  }

  reads({ timeoutMs }: ReadLimits): Connection {
    return { query: (statement) => this.query({ ...statement, timeoutMs }) };
  }

  /** Runs the work in the existing savepoint, because the call has not written anything before. */
  async transaction<T>(work: (connection: Connection) => MaybePromise<T>): Promise<T> {
    try {
      return await work(this.#connection);
    } catch (error) {
      return await this.#undo(error);
    }
  }

  onCommit(listener: () => void): () => void {
    return this.base.onCommit(listener);
  }

  close(): Promise<void> {
    throw new Error("Cannot close a database inside its own transaction");
  }

  async #undo(error: unknown): Promise<never> {
    const text = `ROLLBACK TO SAVEPOINT ${this.#savepoint}`;
    // If the whole transaction is lost, its commit or rollback reports the error.
    await Promise.resolve(this.#connection.query({ text, values: [] })).catch(() => {});
    throw lost(error);
  }
}

/** A retryable error in a part of a transaction. Only the whole transaction can be retried. */
class LostTransaction extends Error {
  constructor(cause: DatabaseError) {
    super("The transaction has to be tried again", { cause });
    this.name = "LostTransaction";
  }
}

function lost(error: unknown): unknown {
  const isRetryable = error instanceof DatabaseError && error.kind === "retryable";
  return isRetryable ? new LostTransaction(error) : error;
}

function hasEnded(): Error {
  return new Error(
    "Cannot call an operation: the transaction has ended. Await every call of context.api in its hook",
  );
}

function usedInPart(): Error {
  return new Error(
    "Cannot call an operation while another one of this transaction runs it: use the api that the hook was given",
  );
}

import type { Connection } from "../../../../src/db/driver.ts";
import type { State } from "./history.ts";
import { isRefusal, writeUndone, type Writing } from "./writers.ts";
import type { Database } from "../../../../src/db/database.ts";

/**
 * Transactions of a Postgres that run at the same time: each has its number early, and commits
 * whenever its turn comes. One step at a time is done, so that every commit is a moment.
 */
export class OpenTransactions {
  readonly #db: Database;
  readonly #open: OpenTransaction[] = [];

  /** None is open. */
  constructor(db: Database) {
    this.#db = db;
  }

  /** One step of any of them. */
  async step(writing: Writing): Promise<void> {
    const { chance, history, reader, note } = writing;
    if (this.#open.length < maxOpen && (this.#open.length === 0 || chance.once(3))) {
      this.#open.push(await OpenTransaction.begin(this.#db));
    }
    const one = chance.pick(this.#open);
    const name = `transaction ${this.#open.indexOf(one)}`;
    const action = chance.weighted({ write: 5, undone: 1, commit: 3, giveUp: 1 });
    if (action === "write" || action === "undone") {
      try {
        if (action === "undone") await one.do((connection) => writeUndone(connection, writing));
        else {
          const sql = writing.statements.any();
          note(`${name}: ${sql}`);
          await one.do(async (connection) => {
            await connection.query({ text: sql, values: [] });
            one.inner.push(await history.read(connection, true));
          });
        }
        return;
      } catch (error) {
        note(`${name} is refused: ${error}`);
        if (!isRefusal(error)) throw error;
      }
    }
    this.#open.splice(this.#open.indexOf(one), 1);
    const isCommitted = action === "commit" && await one.end(true);
    note(`${name} ends: ${isCommitted}`);
    if (!isCommitted) return void await one.end(false);
    history.add(one.inner, await history.read(reader.driver));
  }

  /** None is left. */
  async giveUp(): Promise<void> {
    for (const one of this.#open.splice(0)) await one.end(false);
  }
}

const maxOpen = 5;

class OpenTransaction {
  /** What it has seen of its own writes. */
  readonly inner: State[] = [];
  #connection: Connection | null = null;
  readonly #ending = Promise.withResolvers<boolean>();
  #ended: Promise<boolean> | null = null;

  static async begin(db: Database): Promise<OpenTransaction> {
    const one = new OpenTransaction();
    const begun = Promise.withResolvers<void>();
    one.#ended = db.driver.transaction(async (connection) => {
      await connection.query({ text: "SET LOCAL lock_timeout = '3ms'", values: [] });
      await connection.query({ text: "SELECT pg_current_xact_id()", values: [] });
      one.#connection = connection;
      begun.resolve();
      if (!await one.#ending.promise) throw givenUp;
    }).then(() => true, (error) => {
      begun.reject(error);
      // The server may have died under it.
      return false;
    });
    await begun.promise;
    return one;
  }

  async do(work: (connection: Connection) => Promise<void>): Promise<void> {
    if (this.#connection !== null) await work(this.#connection);
  }

  /** Whether it was committed. */
  async end(commits: boolean): Promise<boolean> {
    this.#ending.resolve(commits);
    return await this.#ended ?? false;
  }
}

const givenUp = new Error("given up on purpose");

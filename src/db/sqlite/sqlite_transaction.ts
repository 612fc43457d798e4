import type { Statement } from "../../sql/fragment.ts";
import type { Connection, QueryResult } from "../driver.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";

/** The connection of the work of a transaction: the writing one, until the work has ended. */
export class SqliteTransaction implements Connection {
  readonly #writer: SqliteConnection;
  readonly #translated: (error: unknown) => unknown;
  #ended = false;
  /** The error by which SQLite rolled the whole transaction back. */
  #lost: unknown = null;

  /** `translated` gives the library's errors their common form. */
  constructor(writer: SqliteConnection, translated: (error: unknown) => unknown) {
    this.#writer = writer;
    this.#translated = translated;
  }

  /** Runs one statement. Rejects once the work has ended or SQLite has rolled it back. */
  query(statement: Statement): Promise<QueryResult> {
    if (this.#ended) return Promise.reject(new Error("Cannot query: the transaction has ended"));
    // Without the transaction the statement would be committed by itself.
    if (this.#lost !== null) return Promise.reject(this.#lost);
    try {
      if (this.#writer.kindOf(statement.text) === "boundary") refuseBoundary();
      return Promise.resolve(this.#writer.run(statement));
    } catch (error) {
      const translated = this.#translated(error);
      // A full disk or a failed write ends the transaction and not only the statement.
      if (!this.#writer.inTransaction) this.#lost = translated;
      return Promise.reject(translated);
    }
  }

  /** Rejects all further statements. */
  end(): void {
    this.#ended = true;
  }

  /** Throws when SQLite has rolled the work back, whether or not the work has noticed. */
  requireAlive(): void {
    if (this.#lost !== null) throw this.#lost;
  }
}

/** All requests share the connection: BEGIN or COMMIT as a statement would concern all of them. */
export function refuseBoundary(): never {
  throw new Error("Cannot begin or end a transaction by a statement: use transaction()");
}

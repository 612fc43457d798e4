import type { Statement } from "../../sql/fragment.ts";
import type { Connection, QueryResult } from "../driver.ts";
import type { SqliteConnection } from "./sqlite_connection.ts";

/** What a transaction hands to its work: the writing connection, until the work has ended. */
export class SqliteTransaction implements Connection {
  readonly #writer: SqliteConnection;
  readonly #translated: (error: unknown) => unknown;
  #ended = false;
  /** What made SQLite roll the whole transaction back. */
  #lost: unknown = null;

  /** `translated` gives the library's errors their common form. */
  constructor(writer: SqliteConnection, translated: (error: unknown) => unknown) {
    this.#writer = writer;
    this.#translated = translated;
  }

  /** Runs one statement. Rejects once the work has ended or SQLite has rolled it back. */
  query(statement: Statement): Promise<QueryResult> {
    if (this.#ended) return Promise.reject(new Error("Cannot query: the transaction has ended"));
    // Without its transaction the statement would be committed on its own.
    if (this.#lost !== null) return Promise.reject(this.#lost);
    try {
      if (this.#writer.kindOf(statement.text) === "boundary") refuseBoundary();
      return Promise.resolve(this.#writer.run(statement));
    } catch (error) {
      const translated = this.#translated(error);
      // A full disk or a failed write ends the transaction, not only the statement.
      if (!this.#writer.inTransaction) this.#lost = translated;
      return Promise.reject(translated);
    }
  }

  /** Takes no more statements. */
  end(): void {
    this.#ended = true;
  }

  /** Throws when SQLite has rolled the work back, whether or not the work took notice. */
  requireAlive(): void {
    if (this.#lost !== null) throw this.#lost;
  }
}

/** Whoever begins or ends by a statement would do so for others, who share the connection. */
export function refuseBoundary(): never {
  throw new Error("Cannot begin or end a transaction by a statement: use transaction()");
}

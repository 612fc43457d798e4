/** A statement and its bound values, as text. */
export interface BoundStatement {
  readonly text: string;
  readonly values: readonly (string | null)[];
}

/** The maximum number of prepared statements, and their maximum length together in characters. */
const [maxStatements, maxLength] = [500, 500_000];

/** The maximum length of a statement for which a full connection is replaced, in characters. */
const maxUsualLength = 10_000;

/** The statements that postgres.js prepares on one connection. */
export class PreparedStatements {
  /** The names of the statements on the server. Null before the server has confirmed a statement. */
  readonly #names = new Map<string, string | null>();
  /** True if the connection has to be replaced, so that further statements can be prepared. */
  isFull = false;
  #length = 0;

  /** Returns true if a statement is prepared, or may be prepared now. */
  admits(text: string): boolean {
    if (this.#names.has(text)) return true;
    const length = this.#length + text.length;
    if (this.#names.size >= maxStatements || length > maxLength) {
      this.isFull ||= text.length <= maxUsualLength;
      return false;
    }
    this.#length = length;
    this.#names.set(text, null);
    return true;
  }

  /** Remembers that a query of postgres.js with this text has succeeded, and was prepared. */
  confirm(text: string, query: object): void {
    // Every query of postgres.js that was sent has this undeclared member.
    const { statement } = query as { readonly statement: { readonly name: string } };
    if (this.#names.get(text) !== statement.name) this.#names.set(text, statement.name);
  }

  /**
   * Returns the text of one message that executes prepared statements. The server runs the message
   * as one transaction. Null if a statement is not prepared, or if a value contains NUL.
   */
  message(statements: readonly BoundStatement[]): string | null {
    let message = "";
    for (const { text, values } of statements) {
      const name = this.#names.get(text) ?? null;
      if (name === null || values.some((value) => value?.includes("\0"))) return null;
      message += `EXECUTE "${name}"${values.length > 0 ? `(${values.map(literal)})` : ""};`;
    }
    return message;
  }
}

/** Returns a value as SQL that means the same with each value of `standard_conforming_strings`. */
function literal(value: string | null): string {
  if (value === null) return "NULL";
  const quoted = `'${value.replaceAll("'", "''")}'`;
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

/**
 * Prevents postgres.js from repeating a query whose prepared statement is stale because its table
 * was altered. The library would repeat the query after all queries that were sent in the meantime.
 * A statement of a failed transaction would then be executed after the end of the transaction, and
 * committed. The library repeats a query only if the query is `prepared` when the error arrives.
 */
export function neverRepeat(query: object): void {
  let prepared: unknown;
  Object.defineProperty(query, "prepared", {
    get: () => prepared,
    set(value: unknown) {
      prepared = value;
      // The library sends the query in the current task, which ends before this microtask runs.
      queueMicrotask(() => prepared = false);
    },
  });
}

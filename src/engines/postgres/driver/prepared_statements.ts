export interface BoundStatement {
  readonly text: string;
  readonly values: readonly (string | null)[];
}

/** The maximum number of prepared statements, and of characters in all of them together. */
const [maxStatements, maxLength] = [500, 500_000];

/** If the cache is full, a statement longer than this runs unprepared, without reconnecting. */
const maxUsualLength = 10_000;

export class PreparedStatements {
  /** The statements' names on the server. Null until the server has confirmed a statement. */
  readonly #names = new Map<string, string | null>();
  /** True if no more statements can be prepared, so that the connection must be replaced. */
  isFull = false;
  #length = 0;
  #unrepeated: object | null = null;

  neverRepeat(query: object): void {
    this.#unrepeated ??= unrepeated(Object.getPrototypeOf(query));
    Object.setPrototypeOf(query, this.#unrepeated);
  }

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

  confirm(text: string, query: object): void {
    // The cast is safe: every query that postgres.js has sent has this undeclared member.
    const { statement } = query as { readonly statement: { readonly name: string } };
    if (this.#names.get(text) !== statement.name) this.#names.set(text, statement.name);
  }

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

/** Returns a value as an SQL literal, whatever the setting `standard_conforming_strings` is. */
function literal(value: string | null): string {
  if (value === null) return "NULL";
  const quoted = `'${value.replaceAll("'", "''")}'`;
  return quoted.includes("\\") ? `E${quoted.replaceAll("\\", "\\\\")}` : quoted;
}

/**
 * Returns a prototype for queries of postgres.js that the library must not repeat after a stale
 * prepared statement: a statement of a failed transaction would run after the transaction's end.
 * The library reads `prepared` for this. Accessors on each query would be slower than one
 * prototype.
 */
function unrepeated(prototype: object | null): object {
  const kept = Symbol("prepared");
  return Object.create(prototype, {
    prepared: {
      get(this: { [kept]?: unknown }) {
        return this[kept];
      },
      set(this: { [kept]?: unknown }, value: unknown) {
        this[kept] = value;
        // The library sends the query before this microtask runs, and needs `value` until then.
        queueMicrotask(() => this[kept] = false);
      },
    },
  });
}

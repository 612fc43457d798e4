import type { TableInfo } from "../../../src/schema/table_info.ts";
import type { SqlValue as Cell } from "../../../src/sql/fragment.ts";

export type Item = Readonly<Record<string, unknown>>;
export type RowKey = readonly Cell[];

/** Plain SQL on a database that the service has open. */
export interface RawRows {
  readonly engine: "sqlite" | "postgres";
  run(text: string, values: readonly Cell[]): Promise<readonly (readonly Cell[])[]>;
  /** Runs `work` in a transaction, and undoes it. */
  trial<T>(work: () => Promise<T>): Promise<T>;
}

/** A trial of an update that changes nothing. */
export interface Trial {
  /** Why the database refuses the update, or null. */
  readonly refused: string | null;
  /** The columns that triggers change at every update. */
  readonly stamped: ReadonlySet<string>;
}

/** The rows of one table, as plain SQL shows them. */
export class StoredRows {
  readonly #table: TableInfo;
  readonly #raw: RawRows;
  readonly #types: Promise<ReadonlyMap<string, string>>;

  constructor(table: TableInfo, raw: RawRows) {
    this.#table = table;
    this.#raw = raw;
    this.#types = this.#readTypes();
  }

  get name(): string {
    const { schema, name } = this.#table;
    return schema === null ? quote(name) : `${quote(schema)}.${quote(name)}`;
  }

  /** Returns the first keys in the order of the key. */
  async firstKeys(limit: number): Promise<readonly RowKey[]> {
    const key = this.#table.primaryKey.map(({ dbName }) => quote(dbName));
    if (key.length === 0) return [];
    const shown = this.#raw.engine === "sqlite" ? key : key.map((name) => `${name}::text`);
    const order = key.map((name) => `t.${name} NULLS LAST`);
    const text = `SELECT ${shown} FROM ${this.name} AS t ORDER BY ${order} LIMIT ${limit}`;
    return await this.#raw.run(text, []);
  }

  /** Returns the values of a row, each with its type and its bytes. */
  async read(key: RowKey): Promise<Readonly<Record<string, Cell>>> {
    const cells = this.#table.columns.map(({ dbName }) => {
      const name = quote(dbName);
      return this.#raw.engine === "sqlite"
        ? `typeof(${name}) || ' ' || quote(${name})`
        : `coalesce(${name}::text, 'NULL')`;
    });
    const text = `SELECT ${cells} FROM ${this.name} AS t WHERE ${this.where(1)} LIMIT 1`;
    const [row] = await this.#raw.run(text, key);
    return Object.fromEntries(
      this.#table.columns.map(({ name }, index) => [name, row?.[index] ?? "no row"]),
    );
  }

  /** Tries an update of all columns to their own values. */
  async tryUpdate(key: RowKey, before: Readonly<Record<string, Cell>>): Promise<Trial> {
    const own = this.#table.columns.filter(({ generated }) => !generated)
      .map(({ dbName }) => `${quote(dbName)} = ${quote(dbName)}`);
    try {
      return await this.#raw.trial(async () => {
        const text = `UPDATE ${this.name} SET ${own} WHERE ${this.where(1)}`;
        await this.#raw.run(text, key);
        const after = await this.read(key);
        const stamped = Object.keys(before).filter((name) => before[name] !== after[name]);
        return { refused: null, stamped: new Set(stamped) };
      });
    } catch (error) {
      return { refused: String(error).slice(0, 200), stamped: new Set() };
    }
  }

  /** Sets a column of a row to the value of an expression. `$value` in it is `value`. */
  async set(
    key: RowKey,
    column: string,
    { expression, value }: { readonly expression: string; readonly value?: Cell },
  ): Promise<void> {
    const types = await this.#types;
    const values = value === undefined ? key : [value, ...key];
    const place = this.#raw.engine === "sqlite" ? "?" : `$1::text::${types.get(column)}`;
    const text = `UPDATE ${this.name} SET ${quote(column)} = ${
      expression.replaceAll("$value", place).replaceAll("$column", quote(column))
    } WHERE ${this.where(value === undefined ? 1 : 2)}`;
    await this.#raw.run(text, values);
  }

  /** Returns the value of a column as it can be bound. */
  async cell(key: RowKey, column: string): Promise<Cell> {
    const name = this.#raw.engine === "sqlite" ? quote(column) : `${quote(column)}::text`;
    const text = `SELECT ${name} FROM ${this.name} WHERE ${this.where(1)} LIMIT 1`;
    return (await this.#raw.run(text, key))[0]?.[0] ?? null;
  }

  /** Returns the condition for a key whose first value has this number as a parameter. */
  where(first: number): string {
    return this.#table.primaryKey.map(({ dbName }, index) => {
      const name = quote(dbName);
      const place = first + index;
      return this.#raw.engine === "sqlite"
        ? `${name} = ?`
        // The operators of a type can be outside of the search path.
        : `${name}::text = $${place}`;
    }).join(" AND ");
  }

  async #readTypes(): Promise<ReadonlyMap<string, string>> {
    if (this.#raw.engine === "sqlite") return new Map();
    const rows = await this.#raw.run(
      `SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
       WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
      [this.name],
    );
    return new Map(rows.map(([name, type]) => [String(name), String(type)]));
  }
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

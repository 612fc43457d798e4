import type { Key } from "../plan/key.ts";
import { type Fragment, rawSql, sql, toStatement } from "../sql/fragment.ts";
import type { IndexBackend, IndexChange, LocalIndex, WordMatcher } from "./search_adapter.ts";
import type { IndexDescription } from "./search_index.ts";
import { engineOf } from "../db/engine/engine.ts";

export interface DocumentTable extends LocalIndex {
  /** The format of the index's tables. If the format changes, the tables are created again. */
  readonly shape: string;
  readonly creation: readonly string[];
  keysAfter(after: Key | null, most: number): Fragment;
}

export interface DatabaseIndexDependencies {
  readonly name: string;
  readonly documents: DocumentTable;
  readonly matchWords: WordMatcher;
  readonly validate?: () => Promise<void>;
}

export class DatabaseIndex implements IndexBackend {
  readonly local: LocalIndex;
  readonly matchWords: WordMatcher;
  readonly validate: () => Promise<void>;
  readonly #index: IndexDescription;
  readonly #name: string;
  readonly #documents: DocumentTable;

  constructor(index: IndexDescription, parts: DatabaseIndexDependencies) {
    const { name, documents, matchWords, validate } = parts;
    this.#index = index;
    this.#name = name;
    this.#documents = documents;
    this.matchWords = matchWords;
    this.validate = validate ?? (() => Promise.resolve());
    this.local = documents;
  }

  /** Creates or replaces the tables. Tables of an old format can hold words of hidden columns. */
  async prepare(): Promise<{ isFilled: boolean }> {
    const { driver } = this.#index;
    const { shape, creation } = this.#documents;
    const { placeholder } = driver.dialect;
    const { searchLock } = engineOf(driver).catalog;
    const name = this.#name;
    return await driver.transaction(async (connection) => {
      // Without the lock, two processes that start together could both try to create the tables.
      if (searchLock !== null) await connection.query(searchLock);
      await connection.query(toStatement(
        sql`CREATE TABLE IF NOT EXISTS ${shapes} (name TEXT PRIMARY KEY, shape TEXT NOT NULL, filled INTEGER NOT NULL)`,
        placeholder,
      ));
      const select = sql`SELECT shape, filled FROM ${shapes} WHERE name = ${name}`;
      const { rows: [known] } = await connection.query(toStatement(select, placeholder));
      if (known?.[0] === shape) return { isFilled: Number(known[1]) === 1 };
      for (const text of creation) await connection.query({ text, values: [] });
      const note =
        sql`INSERT INTO ${shapes} (name, shape, filled) VALUES (${name}, ${shape}, 0) ON CONFLICT (name) DO UPDATE SET shape = excluded.shape, filled = 0`;
      await connection.query(toStatement(note, placeholder));
      return { isFilled: false };
    });
  }

  async markFilled(): Promise<void> {
    const { driver } = this.#index;
    const note = sql`UPDATE ${shapes} SET filled = 1 WHERE name = ${this.#name}`;
    await driver.query(toStatement(note, driver.dialect.placeholder));
  }

  async write(changes: readonly IndexChange[]): Promise<void> {
    const { driver } = this.#index;
    await driver.transaction((connection) => this.#documents.write(changes, connection));
  }

  async keys(after: Key | null, most: number): Promise<readonly Key[]> {
    const { table: { primaryKey }, driver } = this.#index;
    const { dialect } = driver;
    const select = this.#documents.keysAfter(after, most);
    const { rows } = await driver.query(toStatement(select, dialect.placeholder));
    return rows.map((row) =>
      primaryKey.map((column, position) => {
        const value = row[position] ?? null;
        return value === null ? null : dialect.decode(value, column, () => {});
      })
    );
  }
}

const shapes = rawSql('"_service_search"');

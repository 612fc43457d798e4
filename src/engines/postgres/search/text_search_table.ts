import type { Connection } from "../../../db/driver.ts";
import { chunksOf, type Key } from "../../../plan/key.ts";
import {
  type Fragment,
  identifier,
  join,
  quoteIdentifier,
  rawSql,
  sql,
  tableName,
  toStatement,
} from "../../../sql/fragment.ts";
import { matchKeyColumn, matchRankColumn } from "../../../sql/match_names.ts";
import type { DocumentTable } from "../../../search/database_index.ts";
import type { IndexDescription } from "../../../search/search_index.ts";
import type { IndexChange } from "../../../search/search_adapter.ts";
import type { SearchQuery } from "../../../search/search_query.ts";
import { documentWords } from "../../../search/words.ts";
import { type FieldLabel, labelFields, rankWeights } from "./field_labels.ts";
import { compileTsQuery } from "./text_query.ts";

/**
 * The Postgres table of one index: the key of a row, and its words as a `tsvector` with a GIN
 * index. The strings are not stored in it, because responses contain them from the rows.
 */
export class TextSearchTable implements DocumentTable {
  readonly needsSavepoint = true;
  readonly #index: IndexDescription;
  readonly #name: string;
  readonly #language: Fragment;
  readonly #languageName: string;
  readonly #keys: readonly string[];
  readonly #labels: readonly FieldLabel[];
  readonly #weights: string;

  constructor(index: IndexDescription, name: string, language: string) {
    this.#index = index;
    this.#name = name;
    this.#languageName = language;
    this.#language = rawSql(`'${language}'::regconfig`);
    this.#keys = index.table.primaryKey.map((_column, position) => `k${position}`);
    const weights = index.fields.map(({ weight }) => weight);
    this.#labels = labelFields(weights);
    this.#weights = rankWeights(weights);
  }

  get shape(): string {
    const { table: { primaryKey }, fields } = this.#index;
    return JSON.stringify([
      shapeVersion,
      this.#languageName,
      primaryKey.map(({ dbName, existingType, kind }) => [dbName, existingType ?? kind]),
      fields.map(({ column }, position) => [column.dbName, this.#labels[position]]),
    ]);
  }

  get creation(): readonly string[] {
    const { table } = this.#index;
    const name = quoteIdentifier(this.#name);
    const source = tableName(table).texts.join("");
    const columns = table.primaryKey.map(({ dbName, looseCollation }, position) => {
      // With the column's loose collation, two different keys could be equal.
      const collation = looseCollation ? ' COLLATE "C"' : "";
      return `${quoteIdentifier(dbName)}${collation} AS ${this.#keys[position]}`;
    });
    return [
      `DROP TABLE IF EXISTS ${name}`,
      // `AS SELECT` copies the types of the indexed table's key columns.
      `CREATE TABLE ${name} AS SELECT ${columns.join(", ")} FROM ${source} WHERE false`,
      `ALTER TABLE ${name} ADD COLUMN document tsvector NOT NULL, ` +
      `ADD PRIMARY KEY (${this.#keys.join(", ")})`,
      `CREATE INDEX ON ${name} USING gin (document)`,
    ];
  }

  async write(changes: readonly IndexChange[], connection: Connection): Promise<void> {
    const byId = new Map(
      changes.map((change) => [JSON.stringify(change.key, bigintAsText), change]),
    );
    for (const some of chunksOf([...byId.values()], changesPerStatement)) {
      const removed = some.filter(({ texts }) => texts === null);
      const put = some.filter(({ texts }) => texts !== null);
      if (removed.length > 0) await this.#run(this.#removal(removed), connection);
      if (put.length > 0) await this.#run(this.#upsert(put), connection);
    }
  }

  matches(query: SearchQuery, within: Fragment | null): Fragment {
    const keys = this.#keys.map((key, position) =>
      sql`${identifier(key)} AS ${matchKeyColumn(position)}`
    );
    const wanted = compileTsQuery(query, this.#language);
    const rank = sql`-ts_rank(${rawSql(this.#weights)}, document, wanted) AS ${matchRankColumn}`;
    const documents = within === null ? identifier(this.#name) : this.#documentsOf(within);
    return sql`SELECT ${
      join([...keys, rank], ", ")
    } FROM ${documents}, (SELECT ${wanted} AS wanted) AS query WHERE document @@ wanted`;
  }

  /** Returns the documents of rows. OFFSET 0 makes the planner find the rows first. */
  #documentsOf(within: Fragment): Fragment {
    const isKey = this.#keys.map((key, position) =>
      sql`${identifier(key)} = ${matchKeyColumn(position)}`
    );
    return sql`(${within} OFFSET 0) AS "_within" CROSS JOIN LATERAL (SELECT * FROM ${
      identifier(this.#name)
    } WHERE ${join(isKey, " AND ")} OFFSET 0) AS "_words"`;
  }

  keysAfter(after: Key | null, most: number): Fragment {
    const keys = join(this.#keys.map(identifier), ", ");
    const where = after === null
      ? rawSql("true")
      : sql`(${keys}) > (${join(this.#stored(after), ", ")})`;
    return sql`SELECT ${keys} FROM ${identifier(this.#name)} WHERE ${where} ORDER BY ${keys}${
      rawSql(` LIMIT ${most}`)
    }`;
  }

  #removal(changes: readonly IndexChange[]): Fragment {
    const rows = changes.map(({ key }) => {
      const terms = this.#stored(key).map((value, position) =>
        sql`${identifier(this.#keys[position] ?? "")} = ${value}`
      );
      return sql`(${join(terms, " AND ")})`;
    });
    return sql`DELETE FROM ${identifier(this.#name)} WHERE ${join(rows, " OR ")}`;
  }

  #upsert(changes: readonly IndexChange[]): Fragment {
    const keys = join(this.#keys.map(identifier), ", ");
    const rows = changes.map(({ key, texts }) =>
      sql`(${join([...this.#stored(key), this.#document(texts ?? [])], ", ")})`
    );
    return sql`INSERT INTO ${identifier(this.#name)} (${keys}, document) VALUES ${
      join(rows, ", ")
    } ON CONFLICT (${keys}) DO UPDATE SET document = excluded.document`;
  }

  #document(texts: readonly string[]): Fragment {
    const parts = documentWords(texts).map((words, position) =>
      sql`setweight(to_tsvector(${this.#language}, ${words}), ${
        rawSql(`'${this.#labels[position] ?? "D"}'`)
      })`
    );
    return join(parts, " || ");
  }

  #stored(key: Key): readonly Fragment[] {
    const { table: { primaryKey }, driver: { dialect } } = this.#index;
    return primaryKey.map((column, position) => sql`${dialect.encode(key[position], column)}`);
  }

  async #run(fragment: Fragment, connection: Connection): Promise<void> {
    await connection.query(toStatement(fragment, this.#index.driver.dialect.placeholder));
  }
}

/** The version of the code that splits strings into words. Other versions' indexes are rebuilt. */
const shapeVersion = 1;

const changesPerStatement = 100;

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

import { groupOf, listOf } from "../../../options/option.ts";
import { textLike } from "../../../options/option_kinds.ts";
import { type Clock, createYieldTurn } from "../../../runtime/runtime.ts";
import { DatabaseIndex, type DocumentTable } from "../../../search/database_index.ts";
import type { IndexBackend, IndexChange, SearchAdapter } from "../../../search/search_adapter.ts";
import type { IndexDescription } from "../../../search/search_index.ts";
import {
  documentWords,
  type SearchQuery,
  type SearchTerm,
  wordsAsWritten,
} from "../../../search/search_query.ts";
import { isWhole } from "../../../schema/kinds/kind_properties.ts";
import type { Connection } from "../../../db/driver.ts";
import type { Key } from "../../../plan/key.ts";
import {
  type Fragment,
  identifier,
  join,
  quoteIdentifier,
  rawSql,
  sql,
  toStatement,
} from "../../../sql/fragment.ts";
import { matchKeyColumn, matchRankColumn } from "../../../sql/match_names.ts";

/** The options of {@link sqliteSearch}. */
export interface SqliteSearchOptions {
  /** The prefix of the names of the search tables. Default: `service_fts_`. */
  readonly tablePrefix?: string | undefined;
  /** The columns to index, in every resource that has them. Default: all string columns. */
  readonly columns?: readonly string[] | undefined;
}

export const sqliteSearchOptionRules = groupOf<SqliteSearchOptions>()({
  tablePrefix: textLike('like "service_fts_"', /^[A-Za-z_][A-Za-z0-9_]*$/).default(
    "service_fts_",
  ),
  columns: listOf("names of columns", textLike("the name of a column", /./)),
}).default({});

/**
 * A search adapter that keeps its index in the SQLite database of the rows, by FTS5. The
 * transaction that writes rows also updates the index, so it never lags.
 *
 * @example
 * ```ts ignore
 * const app = await createApp({ db, resources, search: sqliteSearch() });
 * ```
 */
export function sqliteSearch(options: SqliteSearchOptions = {}): SearchAdapter {
  const { tablePrefix, columns } = sqliteSearchOptionRules.read(options, {
    subject: "Cannot search by SQLite",
    path: "",
  });
  return {
    kind: "sqlite",
    columns: columns === undefined ? null : new Set(columns),
    openIndex: (index, { clock }) => openIndex(index, tablePrefix, clock),
    check: null,
    close: () => Promise.resolve(),
  };
}

function openIndex(index: IndexDescription, tablePrefix: string, clock: Clock): IndexBackend {
  if (index.driver.dialect.engine !== "sqlite") {
    throw new Error(
      `Cannot serve "${index.table.name}": sqliteSearch() indexes tables of SQLite, and this one is ` +
        "in another database",
    );
  }
  const name = tablePrefix + index.name;
  const documents = new FullTextTable(index, name, clock);
  return new DatabaseIndex(index, { name, documents, matchWords: wordsAsWritten });
}

/** A search index: an FTS5 table of words, and a second table if the keys are not integers. */
class FullTextTable implements DocumentTable {
  /** A savepoint would make FTS5 flush its memory, which doubles the duration of a write. */
  readonly needsSavepoint = false;
  readonly #index: IndexDescription;
  readonly #clock: Clock;
  readonly #name: string;
  readonly #fields: readonly string[];
  readonly #keys: readonly string[];
  readonly #isNumbered: boolean;

  constructor(index: IndexDescription, name: string, clock: Clock) {
    this.#index = index;
    this.#clock = clock;
    this.#name = name;
    this.#fields = index.fields.map((_field, position) => `f${position}`);
    const { primaryKey } = index.table;
    this.#keys = primaryKey.map((_column, position) => `k${position}`);
    const [only, another] = primaryKey;
    this.#isNumbered = another === undefined && only !== undefined && isWhole(only);
  }

  get shape(): string {
    const { table: { primaryKey }, fields } = this.#index;
    const names = fields.map(({ column }) => column.dbName);
    return JSON.stringify([shapeVersion, primaryKey.map(({ dbName }) => dbName), names]);
  }

  get creation(): readonly string[] {
    const drops = [this.#name, this.#keyTable].map((name) =>
      `DROP TABLE IF EXISTS ${quoteIdentifier(name)}`
    );
    const keys = this.#keys.join(", ");
    return [
      ...drops,
      `CREATE VIRTUAL TABLE ${quoteIdentifier(this.#name)} USING fts5(${
        this.#fields.join(", ")
      }, columnsize=0, tokenize="${tokenizer}")`,
      ...(this.#isNumbered ? [] : [
        `CREATE TABLE ${quoteIdentifier(this.#keyTable)} ` +
        `(doc INTEGER PRIMARY KEY, ${keys}, UNIQUE (${keys}))`,
      ]),
    ];
  }

  async write(changes: readonly IndexChange[], connection: Connection): Promise<void> {
    const yieldTurn = createYieldTurn(this.#clock);
    for (const change of changes) {
      // Lets other requests run: adding a batch of one megabyte to the index takes over 50 ms.
      if (change !== changes[0]) await yieldTurn();
      await this.#writeOne(change, connection);
    }
  }

  matches(query: SearchQuery, within: Fragment | null): Fragment {
    return within === null ? this.#found(query) : this.#foundWithin(within, query);
  }

  #found(query: SearchQuery): Fragment {
    const name = identifier(this.#name);
    const found = sql`${name} MATCH ${matchExpression(query)}`;
    const rank = sql`${compileRank(query, this.#ranked)} AS ${matchRankColumn}`;
    if (this.#isNumbered) {
      return sql`SELECT rowid AS ${matchKeyColumn(0)}, ${rank} FROM ${name} WHERE ${found}`;
    }
    const keys = join(
      this.#keys.map((key, position) => sql`${identifier(key)} AS ${matchKeyColumn(position)}`),
      ", ",
    );
    const numbers = sql`SELECT rowid AS "_doc", ${rank} FROM ${name} WHERE ${found}`;
    return sql`SELECT ${keys}, ${matchRankColumn} FROM (${numbers}) CROSS JOIN ${
      identifier(this.#keyTable)
    } WHERE doc = "_doc"`;
  }

  /** Returns the rows of `within` that match. CROSS JOIN makes SQLite start from these rows. */
  #foundWithin(within: Fragment, query: SearchQuery): Fragment {
    const keys = this.#keys.map((_key, position) => matchKeyColumn(position));
    const rank = sql`${compileRank(query, this.#ranked)} AS ${matchRankColumn}`;
    // The stored keys have no type. Without the plus, SQLite would not use the index on them.
    const isKey = this.#keys.map((key, position) =>
      sql`${identifier(key)} = +${matchKeyColumn(position)}`
    );
    const numbers = sql`CROSS JOIN ${identifier(this.#keyTable)} ON ${join(isKey, " AND ")}`;
    return sql`SELECT ${join([...keys, rank], ", ")} FROM (${within}) ${
      this.#isNumbered ? rawSql("") : numbers
    } CROSS JOIN ${identifier(this.#name)} AS "_words" ON "_words".rowid = ${
      this.#isNumbered ? matchKeyColumn(0) : identifier("doc")
    } WHERE ${compileContainsAllTerms(query, this.#ranked)}`;
  }

  keysAfter(after: Key | null, most: number): Fragment {
    const limit = rawSql(` LIMIT ${most}`);
    if (this.#isNumbered) {
      const where = after === null ? rawSql("1=1") : sql`rowid > ${this.#stored(after)}`;
      return sql`SELECT rowid FROM ${identifier(this.#name)} WHERE ${where} ORDER BY rowid${limit}`;
    }
    const keyTable = identifier(this.#keyTable);
    const where = after === null
      ? rawSql("1=1")
      : sql`doc > (SELECT doc FROM ${keyTable} WHERE ${this.#keyIs(after)})`;
    return sql`SELECT ${
      rawSql(this.#keys.join(", "))
    } FROM ${keyTable} WHERE ${where} ORDER BY doc${limit}`;
  }

  async #writeOne({ key, texts }: IndexChange, connection: Connection): Promise<void> {
    const stored = this.#stored(key);
    const run = async (fragment: Fragment) =>
      await connection.query(toStatement(fragment, this.#index.driver.dialect.placeholder));
    const name = identifier(this.#name);
    const keyTable = identifier(this.#keyTable);
    const doc = this.#isNumbered
      ? stored
      : sql`(SELECT doc FROM ${keyTable} WHERE ${this.#keyIs(key)})`;
    if (texts === null) {
      await run(sql`DELETE FROM ${name} WHERE rowid = ${doc}`);
      if (!this.#isNumbered) await run(sql`DELETE FROM ${keyTable} WHERE ${this.#keyIs(key)}`);
      return;
    }
    const columns = rawSql(this.#fields.join(", "));
    const words = join(documentWords(texts).map((words) => sql`${padWords(words)}`), ", ");
    if (!this.#isNumbered) {
      const keys = rawSql(this.#keys.join(", "));
      await run(sql`INSERT OR IGNORE INTO ${keyTable} (${keys}) VALUES (${stored})`);
    }
    await run(sql`INSERT OR REPLACE INTO ${name} (rowid, ${columns}) VALUES (${doc}, ${words})`);
  }

  get #ranked(): readonly RankedField[] {
    return this.#index.fields.map(({ weight }, position) => ({
      column: identifier(this.#fields[position] ?? ""),
      weight,
    }));
  }

  get #keyTable(): string {
    return `_service_keys_${this.#name}`;
  }

  #stored(key: Key): Fragment {
    const { table: { primaryKey }, driver: { dialect } } = this.#index;
    return join(
      primaryKey.map((column, position) => sql`${dialect.encode(key[position], column)}`),
      ", ",
    );
  }

  #keyIs(key: Key): Fragment {
    const { table: { primaryKey }, driver: { dialect } } = this.#index;
    const terms = primaryKey.map((column, position) =>
      sql`${identifier(this.#keys[position] ?? "")} = ${dialect.encode(key[position], column)}`
    );
    return join(terms, " AND ");
  }
}

/** The version of the index format. Indexes of other versions are rebuilt. */
const shapeVersion = 3;

/** Only spaces separate words. Combining marks and letters unknown to SQLite belong to words. */
const tokenizer = "unicode61 remove_diacritics 0 categories 'L* N* M* C*'";

/** Returns each term as a quoted phrase, in which nothing is an operator. */
function matchExpression({ terms }: SearchQuery): string {
  return `${terms.map(({ words }) => `"${words.join(" ")}"`).join(" ")} *`;
}

interface RankedField {
  readonly column: Fragment;
  readonly weight: number;
}

function padWords(words: string): string {
  return words === "" ? "" : ` ${words.replaceAll(" ", "  ")} `;
}

/** Computes BM25 (lowest is best) without statistics of other documents, which may be hidden. */
function compileRank({ terms }: SearchQuery, fields: readonly RankedField[]): Fragment {
  const length = join(fields.map(({ column }) => sql`length(${column})`), " + ");
  const half = sql`(${rawSql(`${saturation} + (`)}${length}${rawSql(`) / ${lengthScale}`)})`;
  const scores = phrasesOf(terms).map((phrase) => {
    const count = join(fields.map((field) => weightedCount(phrase, field)), " + ");
    return sql`${half} / (${half} + ${count})`;
  });
  return join(scores, " + ");
}

function compileContainsAllTerms({ terms }: SearchQuery, fields: readonly RankedField[]): Fragment {
  const found = phrasesOf(terms).map((phrase) =>
    sql`(${join(fields.map(({ column }) => sql`instr(${column}, ${phrase}) > 0`), " OR ")})`
  );
  return join(found, " AND ");
}

function phrasesOf(terms: readonly SearchTerm[]): readonly string[] {
  return terms.map(({ words }, index) =>
    ` ${words.join("  ")}${index === terms.length - 1 ? "" : " "}`
  );
}

function weightedCount(phrase: string, { column, weight }: RankedField): Fragment {
  const without = sql`length(replace(${column}, ${phrase}, '')))`;
  const each = rawSql(` * ${weight / [...phrase].length}`);
  return sql`(length(${column}) - ${without}${each}`;
}

/** The parameters k1 and b of BM25, for documents of 200 characters on average. */
const saturation = 0.3;
const lengthScale = "222.0";

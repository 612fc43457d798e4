import { createHash } from "node:crypto";
import { groupOf, listOf } from "../../../options/option.ts";
import { textLike } from "../../../options/option_kinds.ts";
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
import { DatabaseIndex, type DocumentTable } from "../../../search/database_index.ts";
import type {
  IndexBackend,
  IndexChange,
  SearchAdapter,
  WordMatcher,
} from "../../../search/search_adapter.ts";
import type { IndexDescription } from "../../../search/search_index.ts";
import { documentWords, type SearchQuery, wordsAsWritten } from "../../../search/search_query.ts";
import type { Connection } from "../../../db/driver.ts";
import { chunksOf, type Key } from "../../../plan/key.ts";
import { matchKeyColumn, matchRankColumn } from "../../../sql/match_names.ts";

/** The options of {@link postgresSearch}. */
export interface PostgresSearchOptions {
  /** The text search configuration, which stems words and removes stop words. Default: `simple`. */
  readonly language?: string | undefined;
  /** The prefix of the names of the search tables. Default: `service_fts_`. */
  readonly tablePrefix?: string | undefined;
  /** The columns to index, in every resource that has them. Default: all string columns. */
  readonly columns?: readonly string[] | undefined;
}

const name = /^[A-Za-z_][A-Za-z0-9_]*$/;

export const postgresSearchOptionRules = groupOf<PostgresSearchOptions>()({
  language: textLike('the name of a configuration, like "english"', name).default("simple"),
  tablePrefix: textLike('like "service_fts_"', name).default("service_fts_"),
  columns: listOf("names of columns", textLike("the name of a column", /./)),
}).default({});

/**
 * A search adapter that keeps its index in the Postgres database of the rows, as a `tsvector` with
 * a GIN index. The transaction that writes rows also updates the index, so it never lags.
 *
 * @example
 * ```ts ignore
 * const app = await createApp({ db, resources, search: postgresSearch({ language: "english" }) });
 * ```
 */
export function postgresSearch(options: PostgresSearchOptions = {}): SearchAdapter {
  const { language, tablePrefix, columns } = postgresSearchOptionRules.read(options, {
    subject: "Cannot search by Postgres",
    path: "",
  });
  return {
    kind: "postgres",
    columns: columns === undefined ? null : new Set(columns),
    openIndex: (index) => openIndex(index, language, wholeName(tablePrefix, index.name)),
    check: null,
    close: () => Promise.resolve(),
  };
}

/** Returns a unique name of at most 63 bytes, because Postgres would truncate a longer name. */
function wholeName(prefix: string, name: string): string {
  if (new TextEncoder().encode(prefix + name).length <= 63) return prefix + name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 16);
  // Eight characters have at most 32 bytes, and the hash has 16 bytes.
  return `${prefix}${[...name].slice(0, 8).join("")}_${hash}`;
}

function openIndex(index: IndexDescription, language: string, name: string): IndexBackend {
  const { table, driver } = index;
  if (driver.dialect.engine !== "postgres") {
    throw new Error(
      `Cannot serve "${table.label}": postgresSearch() indexes tables of Postgres, and this one is ` +
        "in another database",
    );
  }
  return new DatabaseIndex(index, {
    name,
    documents: new TextSearchTable(index, name, language),
    // `simple` matches words as written. For other languages, a statement stems the words first.
    matchWords: language === "simple" ? wordsAsWritten : wordsByStem(index, language),
    async validate() {
      const select = sql`SELECT 1 FROM pg_ts_config WHERE cfgname = ${language}`;
      const { rows } = await driver.query(toStatement(select, driver.dialect.placeholder));
      if (rows.length > 0) return;
      throw new Error(
        `Cannot search by Postgres: it has no text search configuration "${language}"`,
      );
    },
  });
}

function wordsByStem({ driver }: IndexDescription, language: string): WordMatcher {
  const config = rawSql(`'${language}'::regconfig`);
  return async (words, query) => {
    const select = sql`SELECT word FROM json_array_elements_text(${
      JSON.stringify(words)
    }::json) AS given (word) WHERE to_tsvector(${config}, word) @@ (${
      compileAnyWord(query, config)
    })`;
    const { rows } = await driver.query(toStatement(select, driver.dialect.placeholder));
    return new Set(rows.map(([word]) => String(word)));
  };
}

/** The table of a search index: each row's key, and its words as a `tsvector`, but no strings. */
class TextSearchTable implements DocumentTable {
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

  /** Returns the indexed words of rows in `within`. OFFSET 0 makes Postgres find the rows first. */
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

/** The version of the code that splits strings into words. A new version rebuilds every index. */
const shapeVersion = 1;

const changesPerStatement = 100;

function bigintAsText(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}

/** Compiles all terms to a `tsquery`. The last word is a prefix. No word can act as an operator. */
function compileTsQuery({ terms }: SearchQuery, language: Fragment): Fragment {
  const phrases = terms.map(({ words }) => sql`phraseto_tsquery(${language}, ${words.join(" ")})`);
  const last = phrases.at(-1);
  if (last === undefined) throw new Error("A search has a term");
  return join([...phrases.slice(0, -1), withPrefix(last)], " && ");
}

function compileAnyWord({ terms }: SearchQuery, language: Fragment): Fragment {
  const words = terms.flatMap((term) => term.words);
  const queries = words.map((word, index) => {
    const query = sql`phraseto_tsquery(${language}, ${word})`;
    return index === words.length - 1 ? withPrefix(query) : query;
  });
  return join(queries, " || ");
}

/** Makes a `tsquery`'s last lexeme a prefix: adds `:*` to its text, in which lexemes are quoted. */
function withPrefix(query: Fragment): Fragment {
  return sql`coalesce((nullif(${query}::text, '') || ':*')::tsquery, ''::tsquery)`;
}

type FieldLabel = "A" | "B" | "C" | "D";

const labels: readonly FieldLabel[] = ["A", "B", "C", "D"];

function labelFields(weights: readonly number[]): readonly FieldLabel[] {
  const groups = groupsOf(weights);
  return weights.map((weight) => {
    const group = groups.findIndex((some) => some.includes(weight));
    return labels[group] ?? "D";
  });
}

function rankWeights(weights: readonly number[]): string {
  const greatest = Math.max(...weights);
  const ofLabels = labels.map((_label, index) => {
    const [weight = 0] = groupsOf(weights)[index] ?? [];
    return weight / greatest;
  });
  return `'{${ofLabels.reverse().join(",")}}'::float4[]`;
}

function groupsOf(weights: readonly number[]): readonly (readonly number[])[] {
  const different = [...new Set(weights)].sort((left, right) => right - left);
  const size = Math.ceil(different.length / labels.length);
  return labels.map((_label, index) => different.slice(index * size, (index + 1) * size));
}

import { createHash } from "node:crypto";
import { type Described, group, listOf } from "../../../options/option.ts";
import { textLike } from "../../../options/option_kinds.ts";
import { rawSql, sql, toStatement } from "../../../sql/fragment.ts";
import { DatabaseIndex } from "../../../search/database_index.ts";
import type { IndexBackend, SearchAdapter, WordMatcher } from "../../../search/search_adapter.ts";
import type { IndexDescription } from "../../../search/search_index.ts";
import { wordsAsWritten } from "../../../search/search_query.ts";
import { compileAnyWord } from "./text_query.ts";
import { TextSearchTable } from "./text_search_table.ts";

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

export const postgresSearchOptionRules = group(
  {
    language: textLike('the name of a configuration, like "english"', name).default("simple"),
    tablePrefix: textLike('like "service_fts_"', name).default("service_fts_"),
    columns: listOf("names of columns", textLike("the name of a column", /./)),
  } satisfies Described<PostgresSearchOptions>,
).default({});

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

/** Returns a unique name of at most 63 bytes, to which Postgres would truncate a longer name. */
function wholeName(prefix: string, name: string): string {
  if (new TextEncoder().encode(prefix + name).length <= 63) return prefix + name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 16);
  // Eight characters have at most 32 bytes, and the hash has 16.
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
    // Words are matched as written unless a language stems them, which needs a statement.
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

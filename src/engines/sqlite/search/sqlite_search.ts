import { type Described, group, listOf } from "../../../options/option.ts";
import { textLike } from "../../../options/option_kinds.ts";
import type { Clock } from "../../../runtime/runtime.ts";
import { DatabaseIndex } from "../../../search/database_index.ts";
import type { IndexBackend, SearchAdapter } from "../../../search/search_adapter.ts";
import type { IndexDescription } from "../../../search/search_index.ts";
import { wordsAsWritten } from "../../../search/search_query.ts";
import { FullTextTable } from "./full_text_table.ts";

/** The options of {@link sqliteSearch}. */
export interface SqliteSearchOptions {
  /** The prefix of the names of the search tables. Default: `service_fts_`. */
  readonly tablePrefix?: string | undefined;
  /** The columns to index, in every resource that has them. Default: all string columns. */
  readonly columns?: readonly string[] | undefined;
}

export const sqliteSearchOptionRules = group(
  {
    tablePrefix: textLike('like "service_fts_"', /^[A-Za-z_][A-Za-z0-9_]*$/).default(
      "service_fts_",
    ),
    columns: listOf("names of columns", textLike("the name of a column", /./)),
  } satisfies Described<SqliteSearchOptions>,
).default({});

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

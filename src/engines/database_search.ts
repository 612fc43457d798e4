import { postgresSearch, type PostgresSearchOptions } from "./postgres/search/postgres_search.ts";
import type { SearchAdapter } from "../search/search_adapter.ts";
import { sqliteSearch } from "./sqlite/search/sqlite_search.ts";

/**
 * A search adapter that keeps the index of each resource in the resource's own database, by {@link
 * sqliteSearch} or {@link postgresSearch}. Only Postgres uses `language`.
 *
 * @example
 * ```ts ignore
 * const app = await createApp({ db, resources, search: databaseSearch() });
 * ```
 */
export function databaseSearch(options: PostgresSearchOptions = {}): SearchAdapter {
  const onPostgres = postgresSearch(options);
  const { tablePrefix, columns } = options;
  const onSqlite = sqliteSearch({ tablePrefix, columns });
  return {
    kind: "database",
    columns: onPostgres.columns,
    openIndex: (index, runtime) =>
      (index.driver.dialect.engine === "postgres" ? onPostgres : onSqlite).openIndex(
        index,
        runtime,
      ),
    check: null,
    close: () => Promise.resolve(),
  };
}

/**
 * The search engines, and the interface for custom search engines.
 *
 * @module
 */
export { databaseSearch } from "../src/engines/database_search.ts";
export {
  postgresSearch,
  type PostgresSearchOptions,
} from "../src/engines/postgres/search/postgres_search.ts";
export {
  sqliteSearch,
  type SqliteSearchOptions,
} from "../src/engines/sqlite/search/sqlite_search.ts";
export {
  type IndexBackend,
  type IndexChange,
  type LocalIndex,
  memorySearch,
  type SearchAdapter,
  type WordMatcher,
  type WriteOptions,
} from "../src/search/search_adapter.ts";
export type { FailedIndexing, IndexErrorHandler } from "../src/search/indexer.ts";
export type { IndexDescription, SearchField, SearchTexts } from "../src/search/search_index.ts";
export type {
  DeadEntry,
  DrainOptions,
  OutboxOperation,
  OutboxStats,
  SearchOutbox,
} from "../src/search/outbox/search_outbox.ts";
export type { DrainResult } from "../src/search/outbox/drain_entries.ts";
export type { DocumentName } from "../src/search/outbox/outbox_entry.ts";
export type { SearchOutboxOptions } from "../src/search/outbox/search_outbox_options.ts";
export type { Key } from "../src/plan/key.ts";
export type { ReindexOptions, ReindexProgress } from "../src/search/search_indexes.ts";
export type { SearchQuery, SearchTerm } from "../src/search/search_query.ts";

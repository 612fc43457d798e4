/**
 * The engines of search, and the seam for custom ones.
 *
 * @module
 */
export { memorySearch } from "../src/search/memory_search.ts";
export { sqliteSearch, type SqliteSearchOptions } from "../src/search/sqlite/sqlite_search.ts";

/**
 * The search engine OpenSearch, for `GET /search` over several processes and large amounts of text.
 *
 * @module
 */
export { openSearch } from "../src/search/opensearch/open_search.ts";
export type {
  OpenSearchAuth,
  OpenSearchOptions,
  OpenSearchTls,
} from "../src/search/opensearch/open_search_options.ts";

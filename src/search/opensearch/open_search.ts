import type { SearchAdapter } from "../search_adapter.ts";
import { member } from "./open_search_answers.ts";
import { createOpenSearchClient } from "./open_search_client.ts";
import { OpenSearchIndex } from "./open_search_index.ts";
import { openSearchOptionRules, type OpenSearchOptions } from "./open_search_options.ts";

/**
 * A search adapter for OpenSearch, for several processes and large amounts of text. The first
 * request loads the library. Rows are indexed after their commit, so a failure of the server never
 * fails a write.
 *
 * @example
 * ```ts ignore
 * const search = openSearch({ node: "https://search.example.com:9200", auth: { username, password } });
 * const app = await createApp({ db, resources, search });
 * ```
 */
export function openSearch(options: OpenSearchOptions): SearchAdapter {
  const read = openSearchOptionRules.read(options, {
    subject: "Cannot search by OpenSearch",
    path: "",
  });
  const { node, auth, ssl, indexPrefix, timeoutMs } = read;
  const client = createOpenSearchClient({ nodes: [node].flat(), auth, ssl, timeoutMs });
  return {
    kind: "opensearch",
    columns: null,
    openIndex: (index, { random, observe }) =>
      new OpenSearchIndex(index, { prefix: indexPrefix, client, random, observe }),
    async check() {
      const { body } = await client.request({ method: "GET", path: "/" });
      if (typeof member(member(body, "version"), "number") === "string") return;
      throw new Error("What answers is no OpenSearch");
    },
    close: () => client.close(),
  };
}

import { assert, assertEquals } from "@std/assert";
import { openSearch } from "../../src/search/opensearch/open_search.ts";
import { as, find, type SearchEngine, withNotes } from "../http/search_support.ts";
import { FaultyProxy } from "./faulty_proxy.ts";
import type { Service } from "../support/http.ts";
import { everyEngine } from "../support/engines.ts";
import { openSearchServer } from "../support/open_search.ts";

const server = await openSearchServer();
/** Why there is no server; null where there is one. */
export const missing = "missing" in server ? server.missing : null;
export const node = "url" in server ? server.url : "";

const [engine] = everyEngine;
if (engine === undefined) throw new Error("There is an engine");
export const database = engine as SearchEngine["engine"];

export interface Parts {
  readonly service: Service;
  readonly proxy: FaultyProxy;
  readonly prefix: string;
  /** The ids that `onIndexError` was given. */
  readonly reported: string[];
}

let count = 0;

/** What the names of the indexes of one test begin with. */
export const newPrefix = () => `faults_${Deno.pid}_${count++}_`;

/** The test of a service whose requests to the server a proxy can change. */
export function withFaults(
  work: (parts: Parts) => Promise<void>,
  { before = () => Promise.resolve() }: {
    readonly before?: (prefix: string, proxy: FaultyProxy) => Promise<void>;
  } = {},
): () => Promise<void> {
  return async () => {
    const prefix = newPrefix();
    await using proxy = new FaultyProxy(node);
    const reported: string[] = [];
    const adapter = () => openSearch({ node: proxy.url, indexPrefix: prefix, timeoutMs: 10_000 });
    const onIndexError = (_error: unknown, { ids }: { ids: readonly string[] }) => {
      reported.push(...ids);
    };
    try {
      await before(prefix, proxy);
      await withNotes(
        { name: "OpenSearch", engine: database, adapter },
        (service) => work({ service, proxy, prefix, reported }),
        { search: { onIndexError } },
      );
    } finally {
      await ask("DELETE", `${prefix}*`);
    }
  };
}

/** Asks the server itself. */
export async function ask(
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const answer = await fetch(`${node}/${path}`, {
    method,
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return await answer.json();
}

/** What `/readyz` says about searches. */
export async function searchCheck(service: Service): Promise<string> {
  return (await service.get("/readyz")).body.checks.search.status;
}

/** Searches until the answer is no 503 any more: the index is filled in the background. */
export async function becomes(
  service: Service,
  query: string,
  expected: { readonly ids: readonly number[]; readonly total: number },
): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const { status } = await service.get(`/api/notes/search?${query}`, as("ada"));
    if (status !== 503) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const { ids, total } = await find(service, query);
  assertEquals({ ids: ids.toSorted(), total }, expected);
  assert(total === ids.length);
}

import { assert, assertEquals } from "@std/assert";
import { openSearch } from "../../src/search/opensearch/open_search.ts";
import { as, createNotes, find, type SearchEngine, withNotes } from "../http/search_support.ts";
import type { Service } from "../support/http.ts";
import { everyEngine } from "../support/engines.ts";
import { openSearchServer } from "../support/open_search.ts";
import { testUnless } from "../support/skip.ts";

const server = await openSearchServer();
const missing = "missing" in server ? server.missing : null;
const node = "url" in server ? server.url : "";

const [engine] = everyEngine;
if (engine === undefined) throw new Error("There is an engine");
const database = engine as SearchEngine["engine"];

/** Answers in place of the server, or changes what it has answered; null leaves a request alone. */
type Fault = (request: Request, answer: () => Promise<unknown>) => Promise<Response | null>;

/** A proxy between the service and the server, and what it does with the requests that come. */
class FaultyProxy implements AsyncDisposable {
  fault: Fault | null = null;
  readonly #server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => this.#pass(request),
  );

  get url(): string {
    return `http://127.0.0.1:${(this.#server.addr as Deno.NetAddr).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }

  async #pass(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const { method, headers } = request;
    const body = method === "GET" ? null : await request.text();
    const type = headers.get("content-type");
    const forward = () =>
      fetch(`${node}${pathname}${search}`, {
        ...{ method, body, headers: type === null ? {} : { "content-type": type } },
      });
    const changed = await this.fault?.(request, async () => (await forward()).json());
    return changed ?? await forward();
  }
}

interface Parts {
  readonly service: Service;
  readonly proxy: FaultyProxy;
  readonly prefix: string;
  /** The ids that `onIndexError` was given. */
  readonly reported: string[];
}

let count = 0;

function withFaults(
  work: (parts: Parts) => Promise<void>,
  { before = () => Promise.resolve() }: {
    readonly before?: (prefix: string, proxy: FaultyProxy) => Promise<void>;
  } = {},
): () => Promise<void> {
  return async () => {
    const prefix = `faults_${Deno.pid}_${count++}_`;
    await using proxy = new FaultyProxy();
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

async function ask(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const answer = await fetch(`${node}/${path}`, {
    method,
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return await answer.json();
}

const html = () =>
  new Response("<html>We are back soon</html>", { headers: { "content-type": "text/html" } });
const json = (body: unknown) => Response.json(body);

/** Replaces the answers to requests whose path ends so; the server gets none of them. */
function instead(path: string, answer: () => Response, times = Infinity): Fault {
  let left = times;
  return ({ url }) => {
    const isMeant = new URL(url).pathname.endsWith(path) && left-- > 0;
    return Promise.resolve(isMeant ? answer() : null);
  };
}

const item = (changes: Record<string, unknown>) => (_index: string) =>
  json({ items: [{ index: { _id: "1", _index, status: 201, result: "created", ...changes } }] });

const unconfirmed: Readonly<Record<string, (index: string) => Response>> = {
  "a page of HTML": html,
  "an empty object": () => json({}),
  "an empty list": () => json({ items: [] }),
  "null": () => json(null),
  "a document of another index": item({ _index: "x" }),
  "a document of another id": item({ _id: "3" }),
  "an item without a status": item({ status: undefined }),
  "the item of a deletion": () => json({ items: [{ delete: { _id: "1", status: 404 } }] }),
  "a 429 for the document": item({ status: 429, result: undefined }),
  "a 503 for the document": item({ status: 503, result: undefined }),
  "a 409 that is no conflict of versions": item({ status: 409, result: undefined }),
  "half of a body": () =>
    new Response('{"items":[{"index":{"_id', { headers: { "content-type": "application/json" } }),
  "nothing": () => new Response(null, { status: 200 }),
};

for (const [name, answer] of Object.entries(unconfirmed)) {
  testUnless(
    missing,
    `a write that is answered by ${name} is tried again, and then reported`,
    withFaults(async ({ service, proxy, prefix, reported }) => {
      await createNotes(service, [{ id: 9, title: "before" }]);
      const [own = ""] = Object.keys(await ask("GET", `${prefix}notes`));
      proxy.fault = instead("/_bulk", () => answer(own), 1);
      await createNotes(service, [{ id: 1, title: "needle" }]);
      proxy.fault = null;
      await becomes(service, "q=needle", { ids: [1], total: 1 });
      proxy.fault = instead("/_bulk", () => answer(own));
      await createNotes(service, [{ id: 2, title: "needle" }]);
      assertEquals(reported.includes("2"), true);
    }),
  );
}

testUnless(
  missing,
  "items in another order confirm nothing",
  withFaults(async ({ service, proxy, reported }) => {
    await createNotes(service, [{ id: 9, title: "before" }]);
    proxy.fault = async ({ url }, answer) => {
      if (!url.includes("/_bulk")) return null;
      const { items } = await answer() as { items: unknown[] };
      return json({ items: items.toReversed() });
    };
    await createNotes(service, [{ id: 1, title: "needle" }, { id: 2, title: "needle" }]);
    assertEquals(reported, ["1", "2"]);
  }),
);

const noAnswers: Readonly<Record<string, () => Response>> = {
  "a page of HTML": html,
  "an empty object": () => json({}),
  "an answer without hits": () =>
    json({ timed_out: false, _shards: { total: 1, successful: 1, failed: 0 } }),
  "an answer of no shard": () =>
    json({ timed_out: false, _shards: { total: 0, successful: 0, failed: 0 }, hits: { hits: [] } }),
};

testUnless(
  missing,
  "a search that is answered by no OpenSearch is a 503, and /readyz knows",
  withFaults(async ({ service, proxy }) => {
    await createNotes(service, [{ id: 1, title: "needle" }]);
    for (const answer of Object.values(noAnswers)) {
      proxy.fault = instead("", answer);
      const { status } = await service.get("/api/notes/search?q=needle", as("ada"));
      assertEquals(status, 503);
      assertEquals(await searchCheck(service), "degraded");
    }
    proxy.fault = null;
    await becomes(service, "q=needle", { ids: [1], total: 1 });
    assertEquals(await searchCheck(service), "ok");
  }),
);

for (const path of ["/_mapping", "/_refresh", "notes"]) {
  testUnless(
    missing,
    `an index is not filled while ${path} is answered by a page of HTML`,
    withFaults(
      async ({ service, proxy }) => {
        const { status } = await service.get("/api/notes/search?q=needle", as("ada"));
        assertEquals(status, 503);
        await createNotes(service, [{ id: 1, title: "needle" }]);
        proxy.fault = null;
        await becomes(service, "q=needle", { ids: [1], total: 1 });
      },
      {
        before(_prefix, proxy) {
          const isMeant = ({ url }: Request) => {
            const { pathname } = new URL(url);
            return path === "notes" ? pathname.includes("notes~") : pathname.endsWith(path);
          };
          proxy.fault = (request) => Promise.resolve(isMeant(request) ? html() : null);
          return Promise.resolve();
        },
      },
    ),
  );
}

const losses: Readonly<Record<string, (prefix: string) => Promise<unknown>>> = {
  "is deleted": (prefix) => ask("DELETE", `${prefix}*`),
  "is deleted and made again by its old name": async (prefix) => {
    await ask("DELETE", `${prefix}*`);
    await ask("PUT", `${prefix}notes`, { mappings: { properties: { key: { type: "text" } } } });
  },
};

for (const [name, lose] of Object.entries(losses)) {
  testUnless(
    missing,
    `an index that ${name} is a 503, never an empty answer, and is made again`,
    withFaults(async ({ service, prefix }) => {
      await createNotes(service, [{ id: 1, title: "needle" }, { id: 2, title: "needle" }]);
      await lose(prefix);
      const { status } = await service.get("/api/notes/search?q=needle", as("ada"));
      assertEquals(status, 503);
      await becomes(service, "q=needle", { ids: [1, 2], total: 2 });
      await lose(prefix);
      assertEquals(await searchCheck(service), "degraded");
      await becomes(service, "q=needle", { ids: [1, 2], total: 2 });
      assertEquals(await searchCheck(service), "ok");
      await lose(prefix);
      await createNotes(service, [{ id: 3, title: "needle" }]);
      await becomes(service, "q=needle", { ids: [1, 2, 3], total: 3 });
      await lose(prefix);
      await service.app.reindex();
      assertEquals(await find(service, "q=needle"), { ids: [1, 2, 3], total: 3 });
    }),
  );
}

testUnless(
  missing,
  "an alias that was moved to another index loses no write",
  withFaults(async ({ service, prefix }) => {
    await createNotes(service, [{ id: 1, title: "needle" }]);
    const [own = ""] = Object.keys(await ask("GET", `${prefix}notes`));
    await ask("PUT", `${prefix}copy`, { mappings: { properties: { key: { type: "keyword" } } } });
    await ask("POST", "_aliases", {
      actions: [
        { remove: { index: own, alias: `${prefix}notes` } },
        { add: { index: `${prefix}copy`, alias: `${prefix}notes` } },
      ],
    });
    assertEquals(await searchCheck(service), "degraded");
    await createNotes(service, [{ id: 2, title: "needle" }]);
    await becomes(service, "q=needle", { ids: [1, 2], total: 2 });
  }),
);

testUnless(
  missing,
  "an index that the server has made of written documents is replaced at the start",
  withFaults(
    async ({ service }) => {
      await createNotes(service, [{ id: 1, title: "needle" }]);
      await becomes(service, "q=needle", { ids: [1], total: 1 });
    },
    { before: (prefix) => ask("PUT", `${prefix}notes/_doc/5`, { key: "5", f0: "needle" }).then() },
  ),
);

testUnless(
  missing,
  "an index of another program is not touched",
  withFaults(
    async ({ service, prefix }) => {
      const { status } = await service.get("/api/notes/search?q=needle", as("ada"));
      assertEquals(status, 503);
      await createNotes(service, [{ id: 1, title: "needle" }]);
      const { _source } = await ask("GET", `${prefix}notes/_doc/5`);
      assertEquals(_source, { message: "mine" });
    },
    { before: (prefix) => ask("PUT", `${prefix}notes/_doc/5`, { message: "mine" }).then() },
  ),
);

async function searchCheck(service: Service): Promise<string> {
  return (await service.get("/readyz")).body.checks.search.status;
}

/** Searches until the answer is no 503 any more: the index is filled in the background. */
async function becomes(
  service: Service,
  query: string,
  expected: { readonly ids: readonly number[]; readonly total: number },
): Promise<void> {
  for (let tries = 0; tries < 20; tries++) {
    const { status } = await service.get(`/api/notes/search?${query}`, as("ada"));
    if (status !== 503) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  const { ids, total } = await find(service, query);
  assertEquals({ ids: ids.toSorted(), total }, expected);
  assert(total === ids.length);
}

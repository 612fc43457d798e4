import { assertEquals } from "@std/assert";
import { openSearch, type OpenSearchOptions } from "../../exports/opensearch.ts";
import { longSearchCases, searchCases } from "../http/search_cases.ts";
import { as, createNotes, find, type SearchEngine, withNotes } from "../http/search_support.ts";
import { worldCases } from "../http/search_worlds.ts";
import { testUnless } from "../support/skip.ts";
import { startTlsProxy, tlsProxyMissing, tlsProxyUser } from "../support/tls_proxy.ts";
import { database, missing, node } from "./open_search_support.ts";

let indexes = 0;

/** Each engine has indexes of its own, which are removed. */
function withOpenSearch(
  work: (engine: SearchEngine, prefix: string) => Promise<void>,
  options: Partial<OpenSearchOptions> = {},
): () => Promise<void> {
  return async () => {
    const prefix = `test_${Deno.pid}_${indexes++}_`;
    const adapter = () => openSearch({ node, indexPrefix: prefix, timeoutMs: 10_000, ...options });
    try {
      await work({ name: "OpenSearch", engine: database, adapter }, prefix);
    } finally {
      const answer = await fetch(`${node}/${prefix}*`, { method: "DELETE" });
      await answer.body?.cancel();
    }
  };
}

for (const { name, run } of [...searchCases, ...longSearchCases, ...worldCases]) {
  testUnless(missing, `${name} (OpenSearch)`, withOpenSearch(run));
}

testUnless(
  missing,
  "an older version of a document does not replace a newer one, nor bring back a removed one",
  withOpenSearch((engine, prefix) =>
    withNotes(engine, async (service) => {
      await createNotes(service, [{ id: 1, title: "newer" }]);
      const put = async (version: number, f1: string) => {
        const query = `version=${version}&version_type=external&refresh=true`;
        const answer = await fetch(`${node}/${prefix}notes/_doc/1?${query}`, {
          method: "PUT",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ key: "1", f1 }),
        });
        await answer.body?.cancel();
        return answer.status;
      };
      assertEquals(await put(1, "older"), 409);
      assertEquals((await find(service, "q=newer")).ids, [1]);
      await service.send("DELETE", "/api/notes/1", undefined, as("ada"));
      assertEquals(await put(1, "older"), 409);
    })
  ),
);

testUnless(
  missing,
  "documents of other owners, of deleted rows and of no row change nothing",
  withOpenSearch((engine, prefix) =>
    withNotes(engine, async (service) => {
      await createNotes(service, [
        { id: 1, title: "needle" },
        { id: 2, title: "other", ownerId: "bob" },
        { id: 3, title: "other" },
      ]);
      await service.send("DELETE", "/api/notes/3", undefined, as("ada"));
      const lines = ["1", "2", "3", "4", "x", "1e3"].flatMap((key) => [
        { index: { _id: key, version: 2 ** 52, version_type: "external" } },
        { key, f1: "needle" },
      ]);
      const answer = await fetch(`${node}/${prefix}notes/_bulk?refresh=true`, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body: lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
      });
      assertEquals((await answer.json()).errors, false);
      assertEquals(await find(service, "q=needle"), { ids: [1], total: 1 });
    })
  ),
);

const proxyFolder = await Deno.makeTempDir();
addEventListener("unload", () => Deno.removeSync(proxyFolder, { recursive: true }));

testUnless(
  missing ?? await tlsProxyMissing(proxyFolder),
  "a server with TLS and a password is reached by its certificate, and by nothing less",
  async () => {
    await using proxy = await startTlsProxy(node, proxyFolder);
    const { url, ca } = proxy;
    const totalWith = async (options: Partial<OpenSearchOptions>) => {
      let answer: unknown = null;
      await withOpenSearch((engine) =>
        withNotes(engine, async (service) => {
          await createNotes(service, [{ id: 1, title: "needle" }]);
          const { status, body } = await service.get("/api/notes/search?q=needle", as("ada"));
          answer = status === 200 ? body.total : body.code;
        }), { node: url, ...options })();
      return answer;
    };
    assertEquals(await totalWith({ auth: tlsProxyUser, ssl: { ca } }), 1);
    assertEquals(await totalWith({ auth: tlsProxyUser, ssl: { rejectUnauthorized: false } }), 1);
    for (
      const options of [
        { auth: tlsProxyUser },
        { ssl: { ca } },
        { auth: { ...tlsProxyUser, password: "wrong" }, ssl: { ca } },
      ]
    ) {
      assertEquals(await totalWith(options), "SEARCH_UNAVAILABLE");
    }
  },
);

Deno.test("a server that does not answer costs no write, and a search is a 503", async () => {
  const adapter = () => openSearch({ node: "http://127.0.0.1:1", timeoutMs: 1_000 });
  await withNotes(
    { name: "", engine: database, adapter },
    async (service) => {
      await createNotes(service, [{ id: 1, title: "needle" }]);
      const { status, body } = await service.get("/api/notes/search?q=needle", as("ada"));
      assertEquals([status, body.code], [503, "SEARCH_UNAVAILABLE"]);
      const ready = await service.get("/readyz");
      assertEquals([ready.status, ready.body.checks.search.status], [200, "degraded"]);
    },
  );
});

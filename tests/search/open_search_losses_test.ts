import { assert, assertEquals } from "@std/assert";
import { openSearch } from "../../src/search/opensearch/open_search.ts";
import { as, createNotes, find, withNotes } from "../http/search_support.ts";
import { testUnless } from "../support/skip.ts";
import {
  ask,
  becomes,
  database,
  missing,
  newPrefix,
  node,
  searchCheck,
  withFaults,
} from "./open_search_support.ts";

const losses: Readonly<Record<string, (prefix: string) => Promise<unknown>>> = {
  "is deleted": (prefix) => ask("DELETE", `${prefix}*`),
  "is deleted and made again by its old name": async (prefix) => {
    await ask("DELETE", `${prefix}*`);
    await ask("PUT", `${prefix}notes`, { mappings: { properties: { key: { type: "text" } } } });
  },
  "is made again by its own name and definition": makeAgain,
};

// deno-lint-ignore no-explicit-any -- It is the server's own definition of an index.
async function definition(prefix: string): Promise<any> {
  const [[name, parts] = []] = Object.entries(await ask("GET", `${prefix}notes`));
  return { name, ...Object(parts) };
}

/** Makes the index of the alias again, without documents, with all that its definition holds. */
async function makeAgain(prefix: string): Promise<void> {
  const { name, aliases, mappings, settings } = await definition(prefix);
  for (const own of ["uuid", "version", "creation_date", "provided_name"]) {
    delete settings.index[own];
  }
  await ask("DELETE", name);
  const made = await ask("PUT", name, { aliases, mappings, settings });
  assertEquals(made["acknowledged"], true);
}

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
  "an index that was made again while no service ran is filled at the start",
  async () => {
    const prefix = newPrefix();
    const adapter = () => openSearch({ node, indexPrefix: prefix, timeoutMs: 10_000 });
    try {
      const engine = { name: "OpenSearch", engine: database, adapter };
      await withNotes(engine, async (service) => {
        await createNotes(service, [{ id: 1, title: "needle" }]);
        await becomes(service, "q=needle", { ids: [1], total: 1 });
      });
      const { name, mappings } = await definition(prefix);
      await makeAgain(prefix);
      assertEquals((await definition(prefix)).mappings, mappings);
      await withNotes(engine, async (service) => {
        await becomes(service, "q=needle", { ids: [], total: 0 });
        const now = await definition(prefix);
        assert(now.name !== name);
        assertEquals(now.mappings._meta.service.filled, now.settings.index.uuid);
      });
    } finally {
      await ask("DELETE", `${prefix}*`);
    }
  },
);

testUnless(
  missing,
  "/readyz knows that an index is closed, or cannot be read",
  withFaults(async ({ service, prefix }) => {
    await createNotes(service, [{ id: 1, title: "needle" }]);
    const [own = ""] = Object.keys(await ask("GET", `${prefix}notes`));
    const changes = {
      closed: [() => ask("POST", `${own}/_close`), () => ask("POST", `${own}/_open`)],
      blocked: [true, null].map((isBlocked) => () =>
        ask("PUT", `${own}/_settings`, { "index.blocks.read": isBlocked })
      ),
    };
    for (const [begin, end] of Object.values(changes)) {
      await begin?.();
      assertEquals(await searchCheck(service), "degraded");
      const { status } = await service.get("/api/notes/search?q=needle", as("ada"));
      assertEquals(status, 503);
      await end?.();
      // A search that has failed just now is shown until one succeeds.
      assertEquals(await searchCheck(service), "degraded");
      await becomes(service, "q=needle", { ids: [1], total: 1 });
      assertEquals(await searchCheck(service), "ok");
    }
  }),
);

testUnless(
  missing,
  "an index that has lost its alias is removed when the next one is filled, and no other is",
  withFaults(async ({ service, prefix }) => {
    await createNotes(service, [{ id: 1, title: "needle" }]);
    const [own = ""] = Object.keys(await ask("GET", `${prefix}notes`));
    await ask("PUT", `${prefix}notes~mine`, {});
    await ask("PUT", `${prefix}notes2`, {});
    await ask("DELETE", `${own}/_alias/${prefix}notes`);
    assertEquals(await searchCheck(service), "degraded");
    await becomes(service, "q=needle", { ids: [1], total: 1 });
    const left = Object.keys(await ask("GET", `${prefix}*?expand_wildcards=all`));
    const [current = ""] = Object.keys(await ask("GET", `${prefix}notes`));
    assert(current !== own);
    assertEquals(left.toSorted(), [current, `${prefix}notes2`, `${prefix}notes~mine`].toSorted());
  }),
);

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

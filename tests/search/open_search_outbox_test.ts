import { assert, assertEquals } from "@std/assert";
import { openSearch } from "../../src/search/opensearch/open_search.ts";
import { createNotes, find, notes, servedNotes } from "../http/search_support.ts";
import { withService } from "../support/http.ts";
import { testUnless } from "../support/skip.ts";
import { type Fault, FaultyProxy } from "./faulty_proxy.ts";
import { unconfirmed } from "./open_search_answers.ts";
import { ask, becomes, database, missing, newPrefix, node } from "./open_search_support.ts";

/** Of two documents, of which only the first is as it should be. */
const changed: Readonly<Record<string, (items: readonly unknown[], index: string) => unknown>> = {
  "fewer items": ([first]) => [first],
  "more items": (items) => [...items, ...items],
  "items in another order": (items) => items.toReversed(),
  "the first item twice": ([first]) => [first, first],
  "items that are a text": (items) => JSON.stringify(items),
  "items of another index": (items, index) =>
    JSON.parse(JSON.stringify(items).replaceAll(index, `${index}0`)),
  "items with errors": (items) =>
    items.map((item) => ({
      index: { ...Object(item).index, status: 400, error: { type: "mapper_parsing_exception" } },
    })),
};

for (const [name, answer] of Object.entries(unconfirmed)) {
  const fault = (own: string): Fault => ({ url }) =>
    Promise.resolve(url.includes("/_bulk") ? answer(own) : null);
  testUnless(
    missing,
    `entries of the outbox stay where they are answered by ${name}`,
    keeps(fault),
  );
}

for (const [name, change] of Object.entries(changed)) {
  const fault = (own: string): Fault => async ({ url }, answer) => {
    if (!url.includes("/_bulk")) return null;
    const { items, ...rest } = await answer() as { items: unknown[] };
    return Response.json({ ...rest, items: change(items, own) });
  };
  testUnless(
    missing,
    `entries of the outbox stay where they are answered by ${name}`,
    keeps(fault),
  );
}

/** No document counts as written, and all of them are once the server answers itself. */
function keeps(fault: (own: string) => Fault): () => Promise<void> {
  return async () => {
    const prefix = newPrefix();
    await using proxy = new FaultyProxy(node);
    try {
      await withService(database, [notes], () => ({
        ...servedNotes({ search: { outbox: true } }),
        search: openSearch({ node: proxy.url, indexPrefix: prefix, timeoutMs: 10_000 }),
        ...{ kv: ":memory:", searchOutbox: { intervalMs: 3_600_000 } },
      }), async (service) => {
        const { searchOutbox: outbox } = service.app;
        assert(outbox !== null);
        await becomes(service, "q=nothing", { ids: [], total: 0 });
        const [own = ""] = Object.keys(await ask("GET", `${prefix}notes`));
        proxy.fault = fault(own);
        await createNotes(service, [{ id: 1, title: "needle" }, { id: 2, title: "needle" }]);
        const { done, failed } = await outbox.drain();
        assertEquals({ done, failed }, { done: 0, failed: 2 });
        assertEquals((await outbox.stats()).pending, 2);
        proxy.fault = null;
        // An item of another index makes the service look for its own again.
        for (let tries = 0; (await outbox.stats()).pending > 0 && tries < 40; tries++) {
          await outbox.drain();
          await new Promise((resolve) => setTimeout(resolve, 250));
        }
        await ask("POST", `${prefix}notes/_refresh`);
        const { ids, total } = await find(service, "q=needle");
        assertEquals([ids.toSorted(), total], [[1, 2], 2]);
      });
    } finally {
      await ask("DELETE", `${prefix}*`);
    }
  };
}

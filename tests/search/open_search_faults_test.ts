import { assertEquals } from "@std/assert";
import { as, createNotes } from "../http/search_support.ts";
import { testUnless } from "../support/skip.ts";
import { html, json, unconfirmed } from "./open_search_answers.ts";
import type { Fault } from "./faulty_proxy.ts";
import { ask, becomes, missing, searchCheck, withFaults } from "./open_search_support.ts";

/** Replaces the answers to requests whose path ends so; the server gets none of them. */
function instead(path: string, answer: () => Response, times = Infinity): Fault {
  let left = times;
  return ({ url }) => {
    const isMeant = new URL(url).pathname.endsWith(path) && left-- > 0;
    return Promise.resolve(isMeant ? answer() : null);
  };
}

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

testUnless(
  missing,
  "a search whose pages repeat themselves is a 503, and does not go on for ever",
  withFaults(async ({ service, proxy }) => {
    await createNotes(service, [{ id: 1, title: "needle" }]);
    let pages = 0;
    proxy.fault = async ({ url }, answer) => {
      if (!url.includes("/_search")) return null;
      if (++pages > 20) return html();
      const found = Object(await answer());
      const hits = Array.from({ length: 10_000 }, () => ({ _id: "1", sort: [1, "1"] }));
      return json({ ...found, hits: { hits } });
    };
    const { status } = await service.get("/api/notes/search?q=needle", as("ada"));
    assertEquals([status, pages], [503, 2]);
    proxy.fault = null;
    await becomes(service, "q=needle", { ids: [1], total: 1 });
  }),
);

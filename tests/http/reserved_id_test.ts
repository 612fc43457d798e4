import { assertEquals } from "@std/assert";
import { all, resource, table, text } from "../../mod.ts";
import { testOnEngines, withService } from "../support/http.ts";

const words = table("words", { id: text().primaryKey() });

testOnEngines(
  "the Location of a row whose id equals the name of a route leads to the row",
  (engine) =>
    withService(engine, [words], () => ({
      resources: [resource(words, { id: words.id, auth: { public: true, create: () => all() } })],
    }), async ({ get, send }) => {
      for (const id of ["count", "search", "counts"]) {
        const created = await send("POST", "/api/words", { id }, { "x-user": "ada" });
        const read = await get(created.headers.get("location") ?? "");
        assertEquals([created.status, read.body], [201, { id }]);
      }
      assertEquals((await get("/api/words/count")).body, { count: 3 });
      assertEquals((await get("/api/words/search")).status, 404);
    }),
);

testOnEngines(
  "the Location of a row is absent if it is too long for proxies",
  (engine) =>
    withService(engine, [words], () => ({
      resources: [resource(words, { id: words.id, auth: { public: true, create: () => all() } })],
    }), async ({ send }) => {
      for (
        const [id, location] of [
          ["k".repeat(2_000), `/api/words/${"k".repeat(2_000)}`],
          ["k".repeat(2_001), null],
        ] as const
      ) {
        const created = await send("POST", "/api/words", { id }, { "x-user": "ada" });
        assertEquals([created.status, created.headers.get("location")], [201, location]);
      }
    }),
);

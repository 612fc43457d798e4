import { assertEquals, assertRejects } from "@std/assert";
import { createApp } from "../../mod.ts";
import { postgresSearch, sqliteSearch } from "../../exports/search.ts";
import { everyEngine } from "../support/engines.ts";
import { testUnless } from "../support/skip.ts";
import { as, createNotes, find, notes, servedNotes, withNotes } from "./search_support.ts";

const secret = "a secret for the tests only";

for (const engine of everyEngine.filter(({ name }) => name.startsWith("p"))) {
  const test = (name: string, work: () => Promise<void>) =>
    testUnless(engine.ignore ?? null, `${name} (${engine.name})`, work);

  test("with a language words are found by their stems, and so highlighted", () => {
    const adapter = () => postgresSearch({ language: "english" });
    return withNotes({ name: "", engine, adapter }, async (service) => {
      await createNotes(service, [
        { id: 1, title: "She was running the races" },
        { id: 2, title: "A runner" },
      ]);
      assertEquals((await find(service, "q=race+run")).ids, [1]);
      assertEquals((await find(service, "q=the+races")).ids, [1]);
      assertEquals(await find(service, "q=the"), { ids: [], total: 0 });
      const { body } = await service.get("/api/notes/search?q=ran+run&highlight=true", as("ada"));
      assertEquals(body.total, 0);
      const marked = await service.get("/api/notes/search?q=runs&highlight=true", as("ada"));
      assertEquals(marked.body.highlights["1"].title, ["She was <em>running</em> the races"]);
    });
  });

  test("an unknown language and another database fail the start", async () => {
    const db = await engine.open();
    try {
      await db.createTables([notes]);
      const start = (search: ReturnType<typeof postgresSearch>) =>
        createApp({ db, secret, search, ...servedNotes() });
      const unknown = postgresSearch({ language: "klingon" });
      await assertRejects(() => start(unknown), Error, 'no text search configuration "klingon"');
      await assertRejects(() => start(sqliteSearch()), Error, "in another database");
    } finally {
      await db.close();
    }
  });
}

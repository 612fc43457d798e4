import { assertEquals } from "@std/assert";
import { all, integer, resource, table, text } from "../../mod.ts";
import { testOnEngines, withService } from "../support/http.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().unique() });

const ada = { "x-user": "ada" };

testOnEngines(
  "new rows get free keys after others were given theirs",
  (engine) =>
    withService(engine, [notes], () => ({
      resources: [
        resource(notes, {
          id: notes.id,
          auth: { public: true, create: () => all(), update: () => all() },
          capabilities: { enableImport: true },
        }),
      ],
    }), async ({ send }) => {
      const items = Array.from({ length: 30 }, (_, index) => ({ id: index + 1 }));
      const given = await send("POST", "/api/notes/batch", { items }, ada);
      assertEquals(given.status, 201);
      const next = await send("POST", "/api/notes", { title: "next" }, ada);
      assertEquals([next.status, next.body.id], [201, 31]);
      const more = await send("POST", "/api/notes/batch", { items: [{}, {}] }, ada);
      assertEquals(more.body.items.map(({ id }: { id: number }) => id), [32, 33]);
      for (const id of [40, 42]) await send("POST", "/api/notes", { id }, ada);
      const lines = Array.from({ length: 10 }, () => "{}").join("\n");
      const headers = { ...ada, "content-type": "application/x-ndjson" };
      const imported = await send("POST", "/api/notes/import", lines, headers);
      assertEquals(imported.body, { rows: 10, written: 10 });
      const taken = await send("POST", "/api/notes", { title: "next" }, ada);
      assertEquals([taken.status, taken.body.details.errors[0].path], [409, "title"]);
      assertEquals((await send("POST", "/api/notes", { id: 1 }, ada)).status, 409);
      // The largest number leaves no room after it.
      await send("POST", "/api/notes", { id: Number.MAX_SAFE_INTEGER }, ada);
      const { id } = (await send("POST", "/api/notes", {}, ada)).body;
      await send("POST", "/api/notes", { id: id + 1 }, ada);
      assertEquals((await send("POST", "/api/notes", {}, ada)).status, 201);
    }),
);

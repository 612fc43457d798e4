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
      const taken = await send("POST", "/api/notes", { title: "next" }, ada);
      assertEquals([taken.status, taken.body.details.errors[0].path], [409, "title"]);
      assertEquals((await send("POST", "/api/notes", { id: 1 }, ada)).status, 409);
    }),
);

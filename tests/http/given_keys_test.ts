import { assertEquals } from "@std/assert";
import { all, integer, openDatabase, resource, table, text } from "../../mod.ts";
import { testOnEngines, withService } from "../support/http.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";

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

testOnPostgres(
  "a role that may not set the counter imports what fits, and names what does not",
  async (url) => {
    const owner = await openDatabase(url);
    await owner.createTables([notes]);
    const limited = `limited_${crypto.randomUUID().replaceAll("-", "")}`;
    const statements = [
      "INSERT INTO notes (id) VALUES (1), (2)",
      `CREATE ROLE ${limited}`,
      `GRANT SELECT, INSERT ON notes TO ${limited}`,
      `GRANT USAGE ON SEQUENCE notes_id_seq TO ${limited}`,
    ];
    for (const text of statements) await owner.query({ text, values: [] });
    await owner.close();
    await withService(
      { name: "postgres", open: () => openDatabase(`${url}?options=-c%20role=${limited}`) },
      [],
      () => ({
        resources: [
          resource(notes, {
            id: notes.id,
            auth: { create: () => all() },
            capabilities: { enableImport: true },
          }),
        ],
      }),
      async ({ send }) => {
        const headers = { ...ada, "content-type": "application/x-ndjson" };
        const refused = await send("POST", "/api/notes/import", "{}", headers);
        assertEquals([refused.status, refused.body.details?.errors[0].line], [422, 1]);
        const { body } = await send("POST", "/api/notes/import", "{}", headers);
        assertEquals(body, { rows: 1, written: 1 });
      },
    );
  },
);

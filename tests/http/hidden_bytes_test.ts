import { assertEquals } from "@std/assert";
import { eq, integer, resource, table, text } from "../../mod.ts";
import { testOnDialects, withService } from "../support/http.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  owner: text().notNull(),
  name: text().unique(),
  secret: text(),
});

const ada = { "x-user": "ada" };
const limit = 1_000;

testOnDialects(
  "the limit of what a write reads counts neither hidden rows nor withheld columns",
  async (engine) => {
    const answers = await Promise.all(["short", "x".repeat(2 * limit)].map(async (hidden) => {
      let texts: readonly string[] = [];
      await withService(engine, [notes], (db) => ({
        db,
        maxAnswerBytes: limit,
        resources: [
          resource(notes, {
            id: notes.id,
            auth: {
              read: (user) => eq(notes.owner, user.id),
              create: (user) => eq(notes.owner, user.id),
              update: (user) => eq(notes.owner, user.id),
            },
            fields: { readable: [notes.id, notes.owner, notes.name] },
          }),
        ],
      }), async ({ db, send }) => {
        await db.sql`
          INSERT INTO ${notes} (${notes.id}, ${notes.owner}, ${notes.name}, ${notes.secret})
          VALUES (1, 'bob', ${hidden}, NULL), (2, 'ada', 'own', ${hidden})`;
        const own = { id: 2, owner: "ada", name: "own" };
        const asked = [
          await send("POST", "/api/notes/batch/upsert", { items: [{ id: 1, owner: "ada" }] }, ada),
          await send("POST", "/api/notes?on=id", { id: 1, owner: "ada" }, ada),
          await send("POST", "/api/notes/batch/upsert", { items: [own] }, ada),
          await send("POST", "/api/notes?on=name", own, ada),
          await send("PUT", "/api/notes/batch", { items: [own] }, ada),
        ];
        texts = asked.map(({ status, body }) => JSON.stringify([status, body.detail ?? body]));
      });
      return texts;
    }));
    assertEquals(answers[0], answers[1]);
    assertEquals(answers[0]?.map((text) => text.slice(1, 4)), ["403", "403", "200", "200", "200"]);
  },
);

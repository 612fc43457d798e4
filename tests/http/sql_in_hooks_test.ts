import { assertEquals } from "@std/assert";
import {
  all,
  type DatabaseHandle,
  integer,
  procedure,
  resource,
  table,
  text,
  trackMutations,
} from "../../mod.ts";
import type { StandardSchema } from "../../exports/options.ts";
import type { Engine } from "../support/engines.ts";
import type { EventStream } from "../support/event_stream.ts";
import { type Service, testOnEngines, testOnEveryEngine, withService } from "../support/http.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const remarks = table("remarks", {
  id: integer().primaryKey(),
  noteId: integer().notNull().as("note_id").references(() => notes.id),
  title: text({ maxLength: 20 }).notNull().unique(),
});

const anything: StandardSchema<unknown> = {
  "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) },
};

/** A remark on a note, by whatever runs statements: hooks and procedures have the same type. */
function remark(db: DatabaseHandle, noteId: unknown, title: unknown): PromiseLike<unknown> {
  return db.sql`INSERT INTO ${remarks} (${remarks.noteId}, ${remarks.title})
    VALUES (${Number(noteId)}, ${String(title)})`;
}

function withRemarks(
  engine: Engine,
  mode: "triggers" | "service",
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const auth = {
    public: { read: true, subscribe: true },
    create: () => all(),
    update: () => all(),
    delete: () => all(),
  } as const;
  return withService(engine, [notes, remarks], () => ({
    changes: { mode },
    resources: [
      resource(notes, {
        id: notes.id,
        auth,
        hooks: {
          onBeforeUpdate: async ({ db }, id) => void await remark(db, id, `before ${id}`),
          onAfterUpdate: async ({ db }, { id, title }) => void await remark(db, id, title),
          onAfterDelete: async ({ db }, id) => {
            await db.transaction((part) =>
              part.sql`DELETE FROM ${remarks}`.then(() => Promise.reject(new Error("no")))
            ).catch(() => {});
            await db.sql`SELECT ${remarks.id} FROM ${remarks} WHERE ${remarks.noteId} = ${
              Number(id)
            }`;
          },
        },
        procedures: {
          remark: procedure({
            input: anything,
            output: anything,
            public: true,
            handler: async ({ db }, title) => {
              await db.transaction((tx) => remark(tx, 1, title));
              return (await db.sql`SELECT * FROM ${remarks} ORDER BY id`).rows;
            },
          }),
        },
      }),
      resource(remarks, { id: remarks.id, auth }),
    ],
  }), work);
}

/**
 * Waits for a row in a stream: by its own event, or among the rows that the stream begins again
 * with, where the log says only that the table was changed.
 */
async function untilShown(stream: EventStream, title: string): Promise<void> {
  if (stream.text.includes(`"title":"${title}"`)) return;
  const event = await stream.next();
  if (event === null) throw new Error(`The stream ended without "${title}"`);
  await untilShown(stream, title);
}

const ada = { "x-user": "ada" };

for (const mode of ["triggers", "service"] as const) {
  testOnEngines(
    `what hooks and procedures write by db.sql reaches a stream, by ${mode}`,
    (engine) =>
      withRemarks(engine, mode, async ({ send, subscribe }) => {
        await send("POST", "/api/notes", { id: 1, title: "a" }, ada);
        const stream = await subscribe("/api/remarks/subscribe");
        await stream.untilSynced();
        await send("PATCH", "/api/notes/1", { title: "b" }, ada);
        await untilShown(stream, "before 1");
        await untilShown(stream, "b");
        const called = await send("POST", "/api/notes/rpc/remark", '"c"');
        assertEquals(called.body.data.map(({ title }: { title: string }) => title), [
          "before 1",
          "b",
          "c",
        ]);
        await untilShown(stream, "c");
        await stream.close();
      }),
  );
}

testOnEngines(
  "what an application writes by db.sql reaches a stream",
  (engine) =>
    withRemarks(engine, "triggers", async ({ db, send, subscribe }) => {
      await trackMutations(db, [remarks]);
      await send("POST", "/api/notes", { id: 1, title: "a" }, ada);
      const stream = await subscribe("/api/remarks/subscribe");
      await stream.untilSynced();
      await db.transaction(async (tx) => {
        await remark(tx, 1, "x");
        await tx.sql`UPDATE ${remarks} SET ${remarks.title} = ${"y"}`;
      });
      await untilShown(stream, "y");
      await stream.close();
    }),
);

testOnEveryEngine(
  "violations of db.sql in hooks and procedures are 409 and 422",
  (engine) =>
    withRemarks(engine, "triggers", async ({ send }) => {
      await send("POST", "/api/notes", { id: 1, title: "a" }, ada);
      const call = async (title: string) =>
        (await send("POST", "/api/notes/rpc/remark", JSON.stringify(title))).status;
      assertEquals([await call("x"), await call("x"), await call("long".repeat(9))], [
        200,
        409,
        422,
      ]);
      const patched = await send("PATCH", "/api/notes/1", { title: "x" }, ada);
      assertEquals(patched.status, 409);
      assertEquals(
        (await send("PATCH", "/api/notes/1", { title: "z".repeat(30) }, ada)).status,
        409,
      );
    }),
);

testOnEveryEngine(
  "a part of an after-hook's transaction is rolled back by itself",
  (engine) =>
    withRemarks(engine, "triggers", async ({ db, send }) => {
      await send("POST", "/api/notes", { id: 1, title: "a" }, ada);
      await send("POST", "/api/notes", { id: 2, title: "a" }, ada);
      await send("POST", "/api/notes/rpc/remark", '"kept"');
      assertEquals((await send("DELETE", "/api/notes/2", undefined, ada)).status, 204);
      assertEquals((await db.sql`SELECT title FROM ${remarks}`).rows, [{ title: "kept" }]);
    }),
);

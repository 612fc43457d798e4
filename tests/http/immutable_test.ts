import { assertEquals, assertRejects } from "@std/assert";
import { all, integer, resource, table, text, timestamp } from "../../mod.ts";
import { insertRows, type Service, testOnEveryEngine, withService } from "../support/http.ts";
import type { Engine } from "../support/engines.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  ownerId: text().notNull().as("owner_id"),
  place: text().default("here"),
  createdAt: timestamp().notNull().default(() => "2020-01-01T00:00:00.000Z").as("created_at"),
});

const ada = { "x-user": "ada" };
const past = "1999-01-01T00:00:00.000Z";
const stored = { ownerId: "ada", place: "there", createdAt: "2024-01-01T00:00:00.000Z" };
/** What a client may send to take the row over, and to forge when it was made. */
const forged = { ownerId: "eve", place: "elsewhere", createdAt: past };

function withNotes(
  engine: Engine,
  strictInput: boolean,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(engine, [notes], () => ({
    resources: [
      resource(notes, {
        id: notes.id,
        auth: {
          public: { read: true },
          create: () => all(),
          update: () => all(),
        },
        capabilities: { enableBatch: true },
        generatedFields: [notes.createdAt],
        fields: { immutable: [notes.id, notes.ownerId, notes.place, notes.createdAt] },
        strictInput,
      }),
    ],
  }), async (service) => {
    await insertRows(service.db, notes, [1, 2].map((id) => ({ id, title: "a", ...stored })));
    await work(service);
  });
}

/** Each writes the title of row 1, and the fields that `more` adds. */
const changes: Readonly<Record<string, (more: object) => readonly [string, string, object]>> = {
  "PATCH": (more: object) => ["PATCH", "/api/notes/1", { title: "b", ...more }],
  "PUT": (more: object) => ["PUT", "/api/notes/1", { id: 1, title: "b", ...more }],
  "upsert": (
    more: object,
  ) => ["POST", "/api/notes/batch/upsert", { items: [{ id: 1, title: "b", ...more }] }],
  "PUT of a batch": (
    more: object,
  ) => ["PUT", "/api/notes/batch", { items: [{ id: 1, title: "b", ...more }] }],
  "PATCH of a batch": (
    more: object,
  ) => ["PATCH", "/api/notes/batch", { filter: "id==1", patch: { title: "b", ...more } }],
};

testOnEveryEngine(
  "a body forges the owner and the time of creation of a row that exists",
  async (engine) => {
    await withNotes(engine, false, async ({ get, send }) => {
      for (const [name, change] of Object.entries(changes)) {
        // The items of an upsert may create their rows, so that their fields are always parsed.
        const impossible = name === "upsert"
          ? {}
          : { createdAt: "no time", place: 5, ownerId: null };
        for (const more of [forged, impossible, {}]) {
          assertEquals((await send(...change(more), ada)).status, 200, name);
          assertEquals((await get("/api/notes/1")).body, { id: 1, title: "b", ...stored }, name);
          await send("PATCH", "/api/notes/1", { title: "a" }, ada);
        }
      }
      assertEquals((await get("/api/notes/2")).body, { id: 2, title: "a", ...stored });
    });
  },
);

testOnEveryEngine("strictInput drops an immutable field of a body in silence", async (engine) => {
  await withNotes(engine, true, async ({ get, send }) => {
    for (const [name, change] of Object.entries(changes)) {
      const { status, body } = await send(...change({ createdAt: past, ownerId: "eve" }), ada);
      assertEquals(status, 422, name);
      const [prefix] = body.details.errors[0].path.split("createdAt");
      assertEquals(
        body.details.errors,
        ["createdAt", "ownerId"].map((field) => ({
          path: `${prefix}${field}`,
          message: "cannot be changed",
        })),
        name,
      );
      assertEquals((await send(...change({}), ada)).status, 200, name);
    }
    assertEquals((await get("/api/notes/1")).body, { id: 1, title: "b", ...stored });
  });
});

testOnEveryEngine(
  "an immutable field is refused in the body that creates its row",
  async (engine) => {
    for (const strictInput of [false, true]) {
      await withNotes(engine, strictInput, async ({ get, send }) => {
        const made = { title: "c", ownerId: "bob", place: "away" };
        assertEquals((await send("POST", "/api/notes", { id: 3, ...made }, ada)).status, 201);
        const items = [{ id: 4, ...made }];
        assertEquals((await send("POST", "/api/notes/batch", { items }, ada)).status, 201);
        const upserted = { items: [{ id: 5, ...made }, { id: 1, title: "b" }] };
        assertEquals((await send("POST", "/api/notes/batch/upsert", upserted, ada)).status, 200);
        for (const id of [3, 4, 5]) {
          const { createdAt, ...rest } = (await get(`/api/notes/${id}`)).body;
          assertEquals(rest, { id, ...made });
          assertEquals(createdAt, "2020-01-01T00:00:00.000Z");
        }
      });
    }
  },
);

testOnEveryEngine(
  "a hook may not set an immutable column of a row that it updates",
  async (engine) => {
    await withService(engine, [notes], () => ({
      resources: [
        resource(notes, {
          id: notes.id,
          auth: { public: { read: true }, create: () => all(), update: () => all() },
          capabilities: { enableBatch: true },
          fields: { immutable: [notes.ownerId] },
          hooks: { onBeforeUpdate: (_context, _id, data) => ({ ...data, ownerId: "hook" }) },
        }),
      ],
    }), async ({ db, get, send }) => {
      await insertRows(db, notes, [{ id: 1, title: "a", ...stored }]);
      for (const [name, change] of Object.entries(changes)) {
        assertEquals((await send(...change({ ownerId: "eve" }), ada)).status, 200, name);
        assertEquals((await get("/api/notes/1")).body.ownerId, "hook", name);
        await db.sql`UPDATE ${notes} SET ${notes.ownerId} = ${"ada"}`;
      }
    });
  },
);

testOnEveryEngine("an immutable column that the table lacks is ignored", async (engine) => {
  const misspelt = { id: "id", fields: { immutable: ["createdat"] } };
  await assertRejects(
    () =>
      withService(
        engine,
        [notes],
        // As a program that is not type-checked writes it.
        () => ({ resources: [resource(notes, misspelt as never)] }),
        () => Promise.resolve(),
      ),
    Error,
    "fields.immutable",
  );
});

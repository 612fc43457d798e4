import { assert, assertEquals } from "@std/assert";
import {
  all,
  createApp,
  eq,
  integer,
  openDatabase,
  resource,
  type ResourceOptions,
  table,
  text,
} from "../../mod.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import type { Engine } from "../support/engines.ts";
import { insertRows, type Service, testOnEveryEngine, withService } from "../support/http.ts";
import { recorded } from "./batch_support.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().as("owner_id"),
  title: text(),
  version: integer(),
});
type Note = typeof notes.$inferSelect;

const ada = { "x-user": "ada" };
const open = { public: true, create: () => all(), update: () => all() } as const;

function withNotes(
  engine: Engine,
  options: Partial<ResourceOptions<Note>>,
  work: (service: Service, statements: string[]) => Promise<void>,
): Promise<void> {
  const statements: string[] = [];
  return withService(engine, [notes], (db) => ({
    resources: [
      resource(notes, {
        id: notes.id,
        db: recorded(db, statements),
        auth: open,
        etag: { versionField: notes.version },
        ...options,
      }),
    ],
  }), async (service) => {
    await insertRows(service.db, notes, [
      { id: 1, ownerId: "ada", title: "a", version: 7 },
      { id: 2, ownerId: "ada", title: "b", version: null },
    ]);
    statements.length = 0;
    await work(service, statements);
  });
}

function patch({ send }: Service, id: number, tag: string, body: object = { title: "new" }) {
  return send("PATCH", `/api/notes/${id}`, body, { ...ada, "if-match": tag });
}

testOnEveryEngine(
  "a PATCH that names one version is one statement",
  (engine) =>
    withNotes(engine, {}, async (service, statements) => {
      const answer = await patch(service, 1, 'W/"7"');
      assertEquals(answer.status, 200);
      assertEquals(answer.headers.get("etag"), 'W/"8"');
      assertEquals(answer.body, { id: 1, ownerId: "ada", title: "new", version: 8 });
      assertEquals(statements.length, 1, statements.join("\n"));
      assert(statements[0]?.startsWith("UPDATE"));
    }),
);

testOnEveryEngine(
  "an empty PATCH counts the version up, too",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const answer = await patch(service, 1, 'W/"7"', {});
      assertEquals(answer.headers.get("etag"), 'W/"8"');
    }),
);

testOnEveryEngine("where the version is another one, the answer is the 412 with the current tag", (
  engine,
) =>
  withNotes(engine, {}, async (service) => {
    for (const tag of ['W/"6"', '"7"', 'W/"07"', 'W/"7.0"', 'W/"-0"', 'W/""']) {
      const answer = await patch(service, 1, tag);
      assertEquals([tag, answer.status], [tag, 412]);
      assertEquals(answer.body.details.currentETag, 'W/"7"');
    }
    assertEquals((await patch(service, 3, 'W/"7"')).status, 404);
  }));

testOnEveryEngine("a list of tags, a star and a row without a version go the longer way", (
  engine,
) =>
  withNotes(engine, {}, async (service) => {
    assertEquals((await patch(service, 1, 'W/"1", W/"7"')).headers.get("etag"), 'W/"8"');
    assertEquals((await patch(service, 1, "*")).headers.get("etag"), 'W/"9"');
    const read = await service.get("/api/notes/2");
    const answer = await patch(service, 2, read.headers.get("etag") ?? "");
    assertEquals([answer.status, answer.body.version], [200, null]);
  }));

testOnEveryEngine(
  "a version in the body stands, and a hidden one is no tag",
  (engine) =>
    withNotes(engine, {}, async (service) => {
      const answer = await patch(service, 1, 'W/"7"', { version: 40 });
      assertEquals(answer.headers.get("etag"), 'W/"40"');
    }),
);

testOnEveryEngine(
  "a hidden version is not guessed by one statement",
  (engine) =>
    withNotes(engine, {
      fields: { readable: [notes.id, notes.title] },
    }, async (service) => {
      assertEquals((await patch(service, 1, 'W/"7"')).status, 412);
    }),
);

testOnEveryEngine(
  "a scope is checked on the row before and after, as ever",
  (engine) =>
    withNotes(engine, {
      auth: { public: true, update: (user) => eq(notes.ownerId, user.id) },
    }, async (service) => {
      assertEquals((await patch(service, 1, 'W/"7"', { ownerId: "bob" })).status, 403);
      assertEquals((await patch(service, 1, 'W/"7"', { title: "mine" })).status, 200);
    }),
);

testOnEveryEngine("an after-hook that throws takes the update back", (engine) =>
  withNotes(engine, {
    hooks: {
      onAfterUpdate() {
        throw new Error("no");
      },
    },
  }, async (service) => {
    assertEquals((await patch(service, 1, 'W/"7"')).status, 500);
    assertEquals((await service.get("/api/notes/1")).headers.get("etag"), 'W/"7"');
  }));

testOnEveryEngine("with an Idempotency-Key the update and its answer are one transaction", (
  engine,
) =>
  withNotes(engine, {}, async ({ send }) => {
    const headers = { ...ada, "if-match": 'W/"7"', "idempotency-key": "k".repeat(30) };
    for (let time = 0; time < 2; time++) {
      const answer = await send("PATCH", "/api/notes/1", { title: "once" }, headers);
      assertEquals([answer.status, answer.headers.get("etag")], [200, 'W/"8"']);
    }
  }));

testOnPostgres(
  "a version beyond the type of its column is another version, not an invalid value",
  async (url) => {
    const db = await openDatabase(url);
    const text = `CREATE TABLE narrow (
      id int PRIMARY KEY, title text, version smallint NOT NULL, CHECK (id > 0))`;
    await db.driver.query({ text, values: [] });
    await db.driver.query({ text: "INSERT INTO narrow VALUES (1, 'a', 1)", values: [] });
    const { tables } = await db.introspect();
    const [narrow] = tables;
    assert(narrow !== undefined);
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      resources: [
        resource(narrow, { id: "id", auth: open, etag: { versionField: "version" } }),
      ],
      auth: { use: [{ name: "test", identify: () => ({ user: { id: "ada" } }) }] },
    });
    const send = async (method: string, id: number, tag: string) => {
      const response = await app.fetch(
        new Request(`http://test/api/narrow/${id}`, {
          method,
          headers: { "content-type": "application/json", "if-match": tag },
          body: method === "PATCH" ? '{"title":"b"}' : null,
        }),
      );
      await response.body?.cancel();
      return response.status;
    };
    for (const version of ["32767", "32768", "2147483648", "99999999999"]) {
      const statuses = [await send("PATCH", 1, `W/"${version}"`)];
      statuses.push(await send("PATCH", 9, `W/"${version}"`));
      assertEquals(statuses, [412, 404], version);
    }
    assertEquals(await send("PATCH", 1, 'W/"1"'), 200);
    await app.close();
  },
);

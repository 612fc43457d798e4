import { assert, assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import {
  all,
  type App,
  createApp,
  type Database,
  eq,
  integer,
  openDatabase,
  resource,
  type ResourceOptions,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import type { Engine } from "../support/engines.ts";
import {
  insertRows,
  type Service,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text(),
  pin: text(),
  version: integer().notNull().default(1),
  updatedAt: timestamp().as("updated_at"),
});
type Note = typeof notes.$inferSelect;
type Etag = NonNullable<ResourceOptions<Note>["etag"]>;

const open = {
  public: true,
  create: () => all(),
  update: () => all(),
  delete: () => all(),
} as const;
const ada = { "x-user": "ada" };

function withNotes(
  engine: Engine,
  etag: Etag | undefined,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(engine, [notes], () => ({
    resources: [
      resource(notes, {
        id: notes.id,
        auth: open,
        etag,
        fields: { readable: [notes.id, notes.title, notes.version, notes.updatedAt] },
      }),
    ],
  }), async (service) => {
    await insertRows(service.db, notes, [{ id: 1, title: "a", pin: "1234", version: 1 }]);
    await work(service);
  });
}

const kinds: readonly (readonly [string, Etag])[] = [
  ["a version", { versionField: notes.version }],
  ["a time of update", { updatedAtField: notes.updatedAt }],
  ["a strong version", { versionField: notes.version, algorithm: "strong" }],
  ["a strong hash", { algorithm: "strong" }],
  ["a hash", {}],
];

for (const [name, etag] of kinds) {
  testOnEngines(
    `of fifty parallel PATCHes with one If-Match by ${name}, one wins`,
    (engine) =>
      withNotes(engine, etag, async ({ get, send }) => {
        // A first write gives the row a time of update.
        await send("PATCH", "/api/notes/1", { title: "b" }, ada);
        const read = await get("/api/notes/1");
        const tag = read.headers.get("etag") ?? "";
        assertMatch(tag, etag.algorithm === "strong" ? /^"[\w.-]+"$/ : /^W\/"[\w.-]+"$/);
        const answers = await Promise.all(Array.from(
          { length: 50 },
          (_, turn) =>
            send("PATCH", "/api/notes/1", { title: `t${turn}` }, { ...ada, "if-match": tag }),
        ));
        const won = answers.filter(({ status }) => status === 200);
        const lost = answers.filter(({ status }) => status === 412);
        assertEquals([won.length, lost.length], [1, 49]);
        const current = await get("/api/notes/1");
        assertNotEquals(current.headers.get("etag"), tag);
        assertEquals(current.headers.get("etag"), won[0]?.headers.get("etag"));
        for (const { body } of lost) {
          assertEquals(body.code, "PRECONDITION_FAILED");
          assertMatch(body.details.currentETag, /"[\w.-]+"$/);
          assertMatch(body.details.suggestion, /again/);
        }
        const expected = etag.versionField === undefined ? 1 : 3;
        assertEquals(current.body.version, expected);
        assertEquals(current.body.title, won[0]?.body.title);
      }),
  );

  testOnEngines(
    `every write changes a tag by ${name}, and reading does not`,
    (engine) =>
      withNotes(engine, etag, async ({ get, send }) => {
        const tags = new Set<string>();
        for (let turn = 0; turn < 20; turn++) {
          const method = turn % 2 === 0 ? "PATCH" : "PUT";
          const { headers } = await send(method, "/api/notes/1", { title: `t${turn}` }, ada);
          tags.add(headers.get("etag") ?? "");
          assertEquals((await get("/api/notes/1")).headers.get("etag"), headers.get("etag"));
        }
        assertEquals(tags.size, 20);
      }),
  );
}

testOnEveryEngine(
  "without If-Match parallel writes all win, and the version counts each",
  (engine) =>
    withNotes(engine, { versionField: notes.version }, async ({ get, send }) => {
      await Promise.all(Array.from(
        { length: 30 },
        (_, turn) => send("PATCH", "/api/notes/1", { title: `t${turn}` }, ada),
      ));
      assertEquals((await get("/api/notes/1")).body.version, 31);
      const set = await send("PATCH", "/api/notes/1", { version: 100 }, ada);
      assertEquals([set.body.version, set.headers.get("etag")], [100, 'W/"100"']);
    }),
);

testOnEveryEngine(
  "If-Match accepts lists and *, and refuses malformed tags",
  (engine) =>
    withNotes(engine, { versionField: notes.version }, async ({ get, send }) => {
      const patch = async (ifMatch: string) =>
        (await send("PATCH", "/api/notes/1", { version: 1, title: "x" }, {
          ...ada,
          "if-match": ifMatch,
        }))
          .status;
      for (const passes of ['W/"1"', "*", ' W/"7" , W/"1"', '"x,y", W/"1"', ' ,, W/"1" ,']) {
        assertEquals([passes, await patch(passes)], [passes, 200]);
      }
      const refused = [
        '"1"',
        "1",
        "W/1",
        "W/'1'",
        'W/"1',
        'W/"2"',
        "",
        '"W/"1""',
        ",",
        "x".repeat(9_000),
      ];
      for (const fails of refused) assertEquals([fails, await patch(fails)], [fails, 412]);
      assertEquals(
        (await send("PATCH", "/api/notes/9", {}, { ...ada, "if-match": '"x"' })).status,
        404,
      );
      const removed = async (ifMatch: string) =>
        (await send("DELETE", "/api/notes/1", undefined, { ...ada, "if-match": ifMatch })).status;
      assertEquals([await removed('W/"5"'), await removed('W/"1"')], [412, 204]);
      assertEquals((await get("/api/notes/1")).status, 404);
    }),
);

testOnEngines(
  "If-None-Match that names the tag is answered with 304 and no body",
  (engine) =>
    withNotes(engine, { versionField: notes.version }, async ({ get, send }) => {
      for (const header of ['W/"1"', '"1"', "*", '"x", W/"1"']) {
        const answer = await get("/api/notes/1", { "if-none-match": header });
        assertEquals([answer.status, answer.body, answer.headers.get("etag")], [304, "", 'W/"1"']);
        assertEquals(answer.headers.get("content-type"), null);
        assertEquals(
          (await send("HEAD", "/api/notes/1", undefined, { "if-none-match": header })).status,
          304,
        );
      }
      for (const header of ["1", 'W/"2"', ""]) {
        assertEquals((await get("/api/notes/1", { "if-none-match": header })).status, 200);
      }
      const created = await send("POST", "/api/notes", { id: 2 }, ada);
      assertEquals(created.headers.get("etag"), 'W/"1"');
      assertEquals((await get("/api/notes")).headers.get("etag"), null);
    }),
);

testOnEngines(
  "the hash of a row is keyed: a hidden value cannot be guessed from it",
  (engine) =>
    withNotes(engine, {}, async ({ get, send }) => {
      const tag = (await get("/api/notes/1")).headers.get("etag") ?? "";
      assertMatch(tag, /^W\/"[0-9a-f]{32}"$/);
      const { createHash } = await import("node:crypto");
      const row = { id: 1, title: "a", pin: "1234", version: 1, updatedAt: null };
      assert(!tag.includes(createHash("md5").update(JSON.stringify(row)).digest("hex")));
      await send("PATCH", "/api/notes/1", { pin: "4321" }, ada);
      assertNotEquals((await get("/api/notes/1")).headers.get("etag"), tag);
    }),
);

testOnEngines(
  "etag.require refuses writes of one row without If-Match, distinct from challenges",
  (engine) =>
    withNotes(engine, { versionField: notes.version, require: true }, async ({ send }) => {
      for (const method of ["PATCH", "PUT", "DELETE"]) {
        const answer = await send(
          method,
          "/api/notes/1",
          method === "DELETE" ? undefined : {},
          ada,
        );
        assertEquals([answer.status, answer.body.code], [428, "PRECONDITION_REQUIRED"]);
        assertEquals(answer.headers.get("service-challenge-type"), null);
      }
      assertEquals((await send("POST", "/api/notes", { id: 3 }, ada)).status, 201);
      const upsert = (id: number, headers = {}) =>
        send("POST", "/api/notes?on=id", { id }, { ...ada, ...headers });
      assertEquals((await upsert(4)).status, 201);
      assertEquals((await upsert(4)).body.code, "PRECONDITION_REQUIRED");
      assertEquals((await upsert(4, { "if-match": 'W/"1"' })).status, 200);
      assertEquals(
        (await send("PATCH", "/api/notes/1", {}, { ...ada, "if-match": 'W/"1"' })).status,
        200,
      );
    }),
);

testOnEngines(
  "without etag there are no tags, and conditional headers are ignored",
  (engine) =>
    withNotes(engine, undefined, async ({ get, send }) => {
      const read = await get("/api/notes/1", { "if-none-match": "*" });
      assertEquals([read.status, read.headers.get("etag")], [200, null]);
      const patched = await send("PATCH", "/api/notes/1", { title: "z" }, {
        ...ada,
        "if-match": '"no"',
      });
      assertEquals([patched.status, patched.headers.get("etag")], [200, null]);
    }),
);

testOnEngines(
  "a version with characters unsafe in a header is hashed in the tag",
  (engine) =>
    withService(engine, [odd], () => ({
      resources: [resource(odd, { id: odd.id, auth: open, etag: { updatedAtField: odd.at } })],
    }), async ({ db, get, send }) => {
      await insertRows(db, odd, [{ id: '\u0001"é', at: "2024-01-31T12:00:00.000001Z" }]);
      const path = `/api/odd/${encodeURIComponent('\u0001"é')}`;
      const tag = (await get(path)).headers.get("etag") ?? "";
      assertMatch(tag, /^W\/"[0-9a-f]{32}"$/);
      const changed = await send("PATCH", path, {}, { ...ada, "if-match": tag });
      assertEquals(changed.status, 200);
      assertNotEquals(changed.headers.get("etag"), tag);
    }),
);

const odd = table("odd", { id: text().primaryKey(), at: timestamp() });

testOnEngines(
  "a conditional write outside the scope says nothing about the tag",
  (engine) =>
    withService(engine, [notes], () => ({
      resources: [
        resource(notes, {
          id: notes.id,
          auth: { read: (user) => eq(notes.title, user.id), update: () => all() },
          etag: { versionField: notes.version },
        }),
      ],
    }), async ({ db, send }) => {
      await insertRows(db, notes, [{ id: 1, title: "bob", version: 1 }]);
      for (const tag of ['W/"1"', 'W/"2"']) {
        const answer = await send("PATCH", "/api/notes/1", { title: "ada" }, {
          ...ada,
          "if-match": tag,
        });
        assertEquals([answer.status, answer.body.details], [404, undefined]);
      }
    }),
);

testOnEngines(
  "a malformed member makes the whole If-Match malformed, and the write is refused",
  (engine) =>
    withNotes(engine, { versionField: notes.version }, async ({ get, send }) => {
      const malformed = [
        ...['W/"1", junk', 'junk, W/"1"', 'W/"1" junk', 'W/"1", *', '*, W/"1"', 'W/"1", "'],
        ...['w/"1", W/"1"', 'W/"1";W/"1"', 'W/"1" "2"'],
      ];
      for (const header of malformed) {
        for (const method of ["PATCH", "PUT", "DELETE"]) {
          const body = method === "DELETE" ? undefined : { title: "x" };
          const headers = { ...ada, "if-match": header };
          const answer = await send(method, "/api/notes/1", body, headers);
          assertEquals([header, method, answer.status], [header, method, 412]);
        }
        assertEquals((await get("/api/notes/1", { "if-none-match": header })).status, 200);
      }
      assertEquals((await get("/api/notes/1")).body.title, "a");
    }),
);

const moment = "2024-01-31T12:34:56.789012Z";

testOnEngines("no tag publishes a version or a moment that is not readable", async (engine) => {
  const { id, title, version, updatedAt } = notes;
  const policies: readonly (readonly [Etag, readonly (typeof title | typeof id)[]])[] = [
    [{ versionField: version }, [id, title]],
    [{ updatedAtField: updatedAt }, [id, title]],
    [{ versionField: version, updatedAtField: updatedAt }, [id, title]],
    [{ updatedAtField: updatedAt, idField: title }, [id]],
  ];
  for (const [etag, readable] of policies) {
    await withService(engine, [notes], () => ({
      resources: [resource(notes, { id, auth: open, etag, fields: { readable } })],
    }), async ({ db, get, send, subscribe }) => {
      const common = { title: "a", version: 7351, updatedAt: moment };
      await insertRows(db, notes, [{ id: 1, ...common }, { id: 2, ...common }]);
      const tagOf = async (path: string) => (await get(path)).headers.get("etag") ?? "";
      const tags = [await tagOf("/api/notes/1"), await tagOf("/api/notes/2")];
      for (const tag of tags) assertMatch(tag, /^W\/"[0-9a-f]{32}"$/);
      // Else a client could learn the hidden version of another row by comparing with its own.
      assertNotEquals(tags[0], tags[1]);
      const headers = { ...ada, "if-match": tags[0] ?? "" };
      const refused = await send("PATCH", "/api/notes/2", { title: "b" }, headers);
      assertEquals([refused.status, refused.body.details.currentETag], [412, tags[1]]);
      const stream = await subscribe("/api/notes/subscribe");
      const [existing] = await stream.untilSynced();
      assertEquals(existing?.data.items.map((item: { _etag: string }) => item._etag), tags);
      await stream.close();
      assertEquals((await get("/api/notes/1", { "if-none-match": tags[0] ?? "" })).status, 304);
      const changed = await send("PATCH", "/api/notes/1", { title: "b" }, headers);
      assertEquals(changed.status, 200);
      assertNotEquals(changed.headers.get("etag"), tags[0]);
    });
  }
});

testOnEngines("a tag that a listed older secret has made still matches", async (engine) => {
  const db = await engine.open();
  await db.createTables([notes]);
  await insertRows(db, notes, [{ id: 1, title: "a", version: 1 }]);
  const [older, newer] = ["an older secret of the tests", "a newer secret of the tests"];
  const apps: App[] = [];
  const tagUnder = async (secret: string | readonly string[]) => {
    const app = await appOver(db, secret);
    apps.push(app);
    const answer = await app.fetch(new Request("http://test/api/notes/1"));
    await answer.body?.cancel();
    return answer.headers.get("etag") ?? "";
  };
  const tag = await tagUnder(older);
  const rotated = await appOver(db, [newer, older]);
  apps.push(rotated);
  const statusOf = async (method: string, headers: Record<string, string>) => {
    const init = method === "GET" ? { headers } : {
      method,
      headers: { ...headers, "content-type": "application/json", ...ada },
      body: '{"title":"b"}',
    };
    const answer = await rotated.fetch(new Request("http://test/api/notes/1", init));
    await answer.body?.cancel();
    return answer.status;
  };
  // The first secret makes the tags, whichever others are listed.
  assertEquals(await tagUnder([newer, older]), await tagUnder(newer));
  assertNotEquals(await tagUnder(newer), tag);
  assertEquals(await statusOf("GET", { "if-none-match": tag }), 304);
  assertEquals(await statusOf("PATCH", { "if-match": tag }), 200);
  assertEquals(await statusOf("PATCH", { "if-match": tag }), 412);
  for (const app of apps) await app.close();
  await db.close();
});

Deno.test("the hash of a tag is not keyed by the secret itself", async () => {
  const { createHmac } = await import("node:crypto");
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  await insertRows(db, notes, [{ id: 1, title: "a", version: 1 }]);
  const secret = "a secret of the tests";
  const app = await appOver(db, secret);
  const answer = await app.fetch(new Request("http://test/api/notes/1"));
  const row = JSON.stringify(await answer.json());
  const plain = createHmac("md5", secret).update(row).digest("hex");
  assertNotEquals(answer.headers.get("etag"), `W/"${plain}"`);
  await app.close();
});

/** Hash tags under a secret. */
function appOver(db: Database, secret: string | readonly string[]): Promise<App> {
  return createApp({
    db,
    secret,
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [resource(notes, { id: notes.id, auth: open, etag: {} })],
  });
}

const compressions = ["gzip", "br", "zstd", "deflate"];

testOnEngines(
  "an ETag that a proxy has changed as it compressed the response is still the ETag",
  (engine) =>
    withNotes(engine, { versionField: notes.version, algorithm: "strong" }, async (service) => {
      const { get, send } = service;
      const status = async (ifMatch: string) =>
        (await send("PATCH", "/api/notes/1", { version: 1 }, { ...ada, "if-match": ifMatch }))
          .status;
      const changed = compressions.map((name) => `"1-${name}"`);
      for (const tag of ['W/"1"', ...changed, ...changed.map((tag) => `W/${tag}`)]) {
        assertEquals([tag, await status(tag)], [tag, 200]);
        assertEquals((await get("/api/notes/1", { "if-none-match": tag })).status, 304);
      }
      for (const tag of ['"1-lzma"', '"1-gzip-gzip"', '"2-gzip"', '"-gzip"', 'W/"2"']) {
        assertEquals([tag, await status(tag)], [tag, 412]);
        assertEquals((await get("/api/notes/1", { "if-none-match": tag })).status, 200);
      }
    }),
);

import { assertEquals } from "@std/assert";
import { all, eq, integer, json, ne, none, resource, rsql, table, text } from "../../mod.ts";
import type { ScopeFunction } from "../../exports/options.ts";
import type { ScopeOptions } from "../../exports/options.ts";
import {
  insertRows,
  type Service,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";
import type { Engine } from "../support/engines.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text(),
  secret: text(),
});

const ada = { "x-user": "ada" };
const bob = { "x-user": "bob" };

function withNotes(
  engine: Engine,
  auth: ScopeOptions,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(engine, [notes], () => ({
    resources: [
      resource(notes, {
        id: notes.id,
        auth,
        fields: { readable: [notes.id, notes.ownerId, notes.title] },
      }),
    ],
  }), async (service) => {
    await insertRows(service.db, notes, [
      { id: 1, ownerId: "ada", title: "a", secret: "xyzzy-s1" },
      { id: 2, ownerId: "bob", title: "b", secret: "xyzzy-s2" },
    ]);
    await work(service);
  });
}

const blocks = table("blocks", { id: integer().primaryKey(), doc: json() });

testOnEveryEngine("a value of a scope in place of a name opens no row", async (engine) => {
  const scopes: readonly ScopeFunction[] = [
    (user) => rsql`doc.blocked."${user.id}"=isnull=true`,
    (user) => rsql`doc."x${user.id}"==null`,
    (user) => rsql`id>${0};doc."${user.id}".a=isempty=true`,
  ];
  const resources = scopes.map((read, index) =>
    resource(blocks, { id: blocks.id, path: `blocks${index}`, auth: { read } })
  );
  await withService(engine, [blocks], () => ({ resources }), async ({ db, get }) => {
    await insertRows(db, blocks, [
      { id: 1, doc: { blocked: { ada: true } } },
      { id: 2, doc: { blocked: { bob: true } } },
    ]);
    for (const index of scopes.keys()) {
      assertEquals((await get(`/api/blocks${index}`, ada)).status, 500);
    }
  });
});

const matrix: readonly (readonly [string, ScopeOptions, readonly [number, number]])[] = [
  ["public read only", { public: { read: true } }, [200, 200]],
  ["a read scope only", { read: () => all() }, [401, 200]],
  ["both", { public: { read: true }, read: () => all() }, [200, 200]],
  ["neither", {}, [401, 403]],
  ["a scope of none()", { read: () => none() }, [401, 403]],
  ["a scope of an empty text", { read: () => "" }, [401, 403]],
  ["an undefined value", { read: () => eq(notes.ownerId, undefined) }, [401, 403]],
  ["a null of the user", { read: () => eq(notes.ownerId, null) }, [401, 403]],
  ["a null of the user, other than", { read: () => ne(notes.ownerId, null) }, [401, 403]],
  ["a null in rsql", { read: () => rsql`ownerId==${null}` }, [401, 403]],
  ["undefined in a plain text", { read: () => `ownerId==${undefined}` }, [401, 403]],
  ["null in a plain text", { read: () => `ownerId==${null}` }, [401, 403]],
];
for (const [name, auth, expected] of matrix) {
  testOnEngines(
    `${name}: ${expected.join(" for anonymous callers, ")} for users`,
    (engine) =>
      withNotes(engine, auth, async ({ get }) => {
        for (const path of ["/api/notes", "/api/notes/1", "/api/notes/count"]) {
          const statuses = [(await get(path)).status, (await get(path, ada)).status];
          assertEquals([path, ...statuses], [path, ...expected]);
        }
      }),
  );
}

testOnEngines(
  "the scope function does not run for anonymous callers, and its error denies",
  (engine) => {
    let runs = 0;
    const read = () => {
      runs++;
      throw new Error("the scope is broken");
    };
    return withNotes(engine, { read }, async ({ get }) => {
      assertEquals([(await get("/api/notes")).status, runs], [401, 0]);
      assertEquals([(await get("/api/notes", ada)).status, runs], [500, 1]);
    });
  },
);

testOnEngines(
  "403 for a user without any right comes before 400, 413, 415 and 422, as 401 does",
  (engine) =>
    withNotes(engine, { create: () => all() }, async ({ get, send }) => {
      const json = { "content-type": "application/json" };
      const bodies: readonly (readonly [unknown, Record<string, string>])[] = [
        ["{", json],
        ['{"id":"x"}', json],
        ["[]", json],
        ['{"items":1}', json],
        [" ".repeat(2_000_000), json],
        ["x=1", { "content-type": "application/x-www-form-urlencoded" }],
        [undefined, {}],
      ];
      const writes = ["PATCH /1", "PUT /1", "PATCH /batch", "PUT /batch", "DELETE /batch"];
      // An upsert changes rows, too: the right to create alone does not grant it.
      for (const write of [...writes, "POST /batch/upsert"]) {
        const [method = "", path = ""] = write.split(" ");
        for (const [body, headers] of bodies) {
          const status = async (user: Record<string, string>) =>
            (await send(method, `/api/notes${path}`, body, { ...headers, ...user })).status;
          assertEquals([write, await status({}), await status(ada)], [write, 401, 403]);
        }
      }
      for (const query of ["filter=(", "limit=0", "cursor=x", "filter=a&filter=b", "select=%ff"]) {
        for (const path of ["", "/1", "/count", "/aggregate", "/subscribe"]) {
          const at = `/api/notes${path}?${query}`;
          assertEquals([at, (await get(at)).status, (await get(at, ada)).status], [at, 401, 403]);
        }
      }
      // A user with the right receives the fault.
      assertEquals((await send("POST", "/api/notes", "{", { ...json, ...ada })).status, 400);
    }),
);

testOnEngines(
  "a plain-text scope with undefined shows no row of an owner called undefined, and a notice says why",
  (engine) => {
    const read: ScopeFunction = (user) => `ownerId==${user.name},ownerId==${user.id}`;
    return withNotes(engine, { read }, async ({ db, get, observations }) => {
      await insertRows(db, notes, [{ id: 3, ownerId: "undefined", title: "c", secret: "xyzzy-3" }]);
      for (let turn = 0; turn < 3; turn++) {
        assertEquals((await get("/api/notes?select=id", ada)).body.items, [{ id: 1 }]);
      }
      const notices = observations.filter(({ kind }) => kind === "notice");
      assertEquals(notices, [{
        kind: "notice",
        message: 'a scope of "notes" answered plain text: ' +
          "use eq() or rsql, where a value is never read as syntax",
      }]);
    });
  },
);

testOnEngines(
  "a scope that returns true instead of a filter grants nothing, and is observed",
  (engine) => {
    const read = (() => true) as unknown as ScopeFunction;
    return withNotes(engine, { read, update: read }, async ({ get, send, observations }) => {
      for (const path of ["/api/notes", "/api/notes/1", "/api/notes/count"]) {
        assertEquals((await get(path, ada)).status, 500);
      }
      assertEquals((await send("PATCH", "/api/notes/1", { title: "x" }, ada)).status, 500);
      const [observed] = observations;
      assertEquals(
        observed?.kind === "request_failed" && String(observed.error),
        'Error: Cannot use a scope of "notes": it answered true, not a filter: use a rule such as all()',
      );
    });
  },
);

testOnEngines(
  "a user filter cannot widen a scope",
  (engine) =>
    withNotes(engine, { read: (user) => rsql`ownerId==${user.id}` }, async ({ get }) => {
      const ids = async (filter: string) => {
        const { status, body } = await get(`/api/notes?filter=${encodeURIComponent(filter)}`, ada);
        return status === 200 ? body.items.map((item: { id: number }) => item.id) : status;
      };
      assertEquals(await ids("id>0"), [1]);
      assertEquals(await ids("id==1,id==2"), [1]);
      assertEquals(await ids("ownerId!=ada"), []);
      assertEquals(await ids("id==1),(id==2"), 400);
      assertEquals(await ids("*"), 400);
      assertEquals(await ids('title=="x\'; DROP TABLE notes; --"'), []);
      const hostile = { "x-user": 'x",ownerId!="' };
      assertEquals((await get("/api/notes", hostile)).body.items, []);
      assertEquals((await get("/api/notes/2", ada)).status, 404);
      assertEquals((await get("/api/notes/2%22%2Cid!%3D%22", ada)).status, 404);
      assertEquals((await get("/api/notes/count", ada)).body, { count: 1 });
    }),
);

testOnEveryEngine(
  "writes outside the scope are 404 when unseen, 403 when seen, and change nothing",
  (engine) =>
    withNotes(engine, {
      public: { read: true },
      create: (user) => eq(notes.ownerId, user.id),
      update: (user) => eq(notes.ownerId, user.id),
      delete: (user) => eq(notes.ownerId, user.id),
    }, async ({ get, send }) => {
      const status = async (method: string, path: string, body?: unknown) =>
        (await send(method, path, body, ada)).status;
      assertEquals(await status("POST", "/api/notes", { id: 3, ownerId: "bob" }), 403);
      assertEquals(await status("POST", "/api/notes", { id: 3, ownerId: "ada" }), 201);
      assertEquals(await status("PATCH", "/api/notes/2", { title: "mine" }), 403);
      assertEquals(await status("PATCH", "/api/notes/1", { ownerId: "bob" }), 403);
      assertEquals(await status("PUT", "/api/notes/2", { ownerId: "ada" }), 403);
      assertEquals(await status("DELETE", "/api/notes/2"), 403);
      assertEquals(await status("DELETE", "/api/notes/9"), 404);
      assertEquals(await status("DELETE", "/api/notes/3"), 204);
      const rows = (await get("/api/notes?orderBy=id")).body.items;
      assertEquals(rows, [
        { id: 1, ownerId: "ada", title: "a" },
        { id: 2, ownerId: "bob", title: "b" },
      ]);
      const anonymous = await send("DELETE", "/api/notes/1");
      assertEquals(anonymous.status, 401);
      assertEquals(anonymous.headers.get("www-authenticate"), "Bearer");
    }),
);

testOnEngines(
  "a row that may not be read is a 404 for writes, too",
  (engine) =>
    withNotes(engine, {
      read: (user) => eq(notes.ownerId, user.id),
      update: () => all(),
      delete: () => all(),
    }, async ({ send }) => {
      assertEquals((await send("PATCH", "/api/notes/1", { title: "x" }, bob)).status, 404);
      assertEquals((await send("PATCH", "/api/notes/1", {}, bob)).status, 404);
      assertEquals((await send("DELETE", "/api/notes/1", undefined, bob)).status, 404);
      assertEquals((await send("PATCH", "/api/notes/1", { title: "x" }, ada)).status, 200);
    }),
);

testOnEngines(
  "a hidden column cannot be filtered, ordered, selected or returned",
  (engine) =>
    withNotes(engine, { public: true, update: () => all() }, async ({ get, send }) => {
      const { body } = await send("PATCH", "/api/notes/1", { secret: "s3" }, ada);
      assertEquals(/secret|s[123]/.test(JSON.stringify(body)), false);
      const texts = await Promise.all(
        ["secret", "nothing", "constructor", "__proto__"].map(async (name) => {
          const filtered = await get(`/api/notes?filter=${name}==s1`);
          const ordered = await get(`/api/notes?orderBy=${name}`);
          const selected = await get(`/api/notes/1?select=${name},id`);
          const replies = [filtered, ordered, selected];
          assertEquals(replies.map(({ status }) => status), [400, 400, 400]);
          return replies.map(({ body }) => body.detail.replace(`"${name}"`, ""));
        }),
      );
      assertEquals(new Set(texts.map((text) => text.join())).size, 1);
    }),
);

testOnEngines(
  "an anonymous caller gets a 401 before a name, a body or a row is checked",
  (engine) =>
    withNotes(engine, { read: () => all(), create: () => all() }, async ({ get, send }) => {
      const answers = await Promise.all([
        get("/api/notes?filter=nothing==1"),
        get("/api/notes?filter=title==x"),
        get("/api/notes/abc"),
        send("POST", "/api/notes", "{ not json"),
        send("POST", "/api/notes", {}),
      ]);
      assertEquals(answers.map(({ status }) => status), [401, 401, 401, 401, 401]);
      assertEquals(new Set(answers.map(({ body }) => body.detail)).size, 2);
    }),
);

/** Every route, without the streams and searches to come. */
const routes: readonly (readonly [method: string, path: string, body?: unknown])[] = [
  ["GET", "/api/notes"],
  ["GET", "/api/notes/1"],
  ["GET", "/api/notes/count"],
  ["HEAD", "/api/notes"],
  ["HEAD", "/api/notes/1"],
  ["POST", "/api/notes", { id: 9, ownerId: "ada" }],
  ["PATCH", "/api/notes/1", { title: "x" }],
  ["PUT", "/api/notes/1", { ownerId: "ada" }],
  ["DELETE", "/api/notes/1"],
  ["POST", "/api/notes/batch", { items: [{ id: 9, ownerId: "ada" }] }],
  ["PATCH", "/api/notes/batch", { filter: "id==1", patch: { title: "x" } }],
  ["PUT", "/api/notes/batch", { items: [{ id: 1, ownerId: "ada" }] }],
  ["DELETE", "/api/notes/batch", { filter: "id==1" }],
  ["POST", "/api/notes/batch/upsert", { items: [{ id: 1, ownerId: "ada" }] }],
];

testOnEngines(
  "no route grants an access that the options do not grant",
  (engine) =>
    withNotes(engine, {}, async ({ get, send }) => {
      for (const [method, path, body] of routes) {
        const statuses = [
          (await send(method, path, body)).status,
          (await send(method, path, body, ada)).status,
        ];
        assertEquals([method, path, ...statuses], [method, path, 401, 403]);
      }
      assertEquals((await get("/api/notes/batch", ada)).status, 405);
    }),
);

testOnEngines(
  "public opens reading to all callers, and no write",
  (engine) =>
    withNotes(engine, { public: true }, async ({ send }) => {
      for (const [method, path, body] of routes) {
        const isRead = method === "GET" || method === "HEAD";
        const statuses = [
          (await send(method, path, body)).status,
          (await send(method, path, body, ada)).status,
        ];
        const expected = isRead ? [200, 200] : [401, 403];
        assertEquals([method, path, ...statuses], [method, path, ...expected]);
      }
    }),
);

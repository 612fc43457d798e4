import { assertEquals, assertMatch } from "@std/assert";
import {
  all,
  boolean,
  eq,
  integer,
  Problem,
  resource,
  type ResourceOptions,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import type { Engine } from "../support/engines.ts";
import { gate } from "../support/scratch.ts";
import {
  insertRows,
  type Service,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";

const posts = table("posts", {
  id: text().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text(),
  slug: text(),
  createdAt: timestamp().notNull().as("created_at"),
});
type Post = typeof posts.$inferSelect;

const open = {
  public: true,
  create: () => all(),
  update: () => all(),
  delete: () => all(),
} as const;
const ada = { "x-user": "ada" };

function withPosts(
  engine: Engine,
  options: Partial<ResourceOptions<Post>>,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(engine, [posts], () => ({
    resources: [
      resource(posts, {
        id: posts.id,
        auth: open,
        generatedFields: [posts.id, posts.ownerId, posts.createdAt],
        ...options,
      }),
    ],
  }), work);
}

testOnEngines(
  "generated fields: a key where none is sent, now, and the owner of the scope",
  (engine) =>
    withPosts(engine, {
      auth: { ...open, create: (user) => eq(posts.ownerId, user.id) },
      strictInput: true,
    }, async ({ send }) => {
      const { status, body } = await send("POST", "/api/posts", {
        ownerId: "bob",
        title: "t",
        createdAt: "1999-01-01T00:00:00Z",
      }, ada);
      assertEquals([status, body.ownerId, body.title], [201, "ada", "t"]);
      assertMatch(body.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assertEquals(Math.abs(Date.parse(body.createdAt) - Date.now()) < 60_000, true);
      const named = await send("POST", "/api/posts", { id: "mine", title: "t" }, ada);
      assertEquals(named.body.id, "mine");
      const unknown = await send("POST", "/api/posts", { titel: "t" }, ada);
      assertEquals([unknown.status, unknown.body.details.errors], [
        422,
        [{ path: "titel", message: 'is not a field. Did you mean "title"?' }],
      ]);
    }),
);

testOnEveryEngine(
  "hooks run in order, before-hooks outside the transaction, after-hooks inside",
  (engine) => {
    const calls: string[] = [];
    return withPosts(engine, {
      fields: { writable: [posts.title] },
      auth: { ...open, create: (user) => eq(posts.ownerId, user.id) },
      hooks: {
        onBeforeCreate: ({ user, resource }, data) => {
          calls.push(`before create ${user?.id} ${resource.name} ${Object.keys(data).join()}`);
          return { ...data, slug: "set-by-hook" };
        },
        onAfterCreate: async ({ db }, row) => {
          const { rows } = await db.query({ text: "SELECT count(*) FROM posts", values: [] });
          calls.push(`after create ${row.slug}, ${Number(rows[0]?.[0])} row`);
        },
        onBeforeUpdate: (_context, id, patch) => {
          calls.push(`before update ${id} ${JSON.stringify(patch)}`);
        },
        onAfterUpdate: (_context, row) => {
          calls.push(`after update ${row.title}`);
        },
        onBeforeDelete: (_context, id) => {
          calls.push(`before delete ${id}`);
        },
        onAfterDelete: (_context, id) => {
          calls.push(`after delete ${id}`);
        },
      },
    }, async ({ send }) => {
      await send("POST", "/api/posts", { id: "p", title: "t", slug: "stripped" }, ada);
      await send("PATCH", "/api/posts/p", { title: "u", slug: "stripped" }, ada);
      await send("PATCH", "/api/posts/nothing", { title: "u" }, ada);
      await send("DELETE", "/api/posts/nothing", undefined, ada);
      await send("DELETE", "/api/posts/p", undefined, ada);
      assertEquals(calls, [
        "before create ada posts id,title",
        "after create set-by-hook, 1 row",
        'before update p {"title":"u"}',
        "after update u",
        "before delete p",
        "after delete p",
      ]);
    });
  },
);

testOnEngines(
  "an error of a hook is a problem for the client and rolls everything back",
  (engine) =>
    withPosts(engine, {
      auth: { ...open, create: (user) => eq(posts.ownerId, user.id) },
      hooks: {
        onBeforeCreate: (_context, data) => {
          if (data.title === "veto") throw new Problem("conflict", "Cannot create: not today");
        },
        onAfterCreate: async ({ db }, row) => {
          await db.query({ text: "UPDATE posts SET title = 'touched'", values: [] });
          if (row.title === "late") throw new Problem("forbidden", "Cannot create: too late");
          if (row.title === "broken") throw new Error("a secret detail");
        },
        onAfterDelete: () => {
          throw new Problem("conflict", "Cannot delete: never");
        },
      },
    }, async ({ db, get, send }) => {
      await insertRows(db, posts, [
        { id: "old", ownerId: "x", title: "old", createdAt: "2024-01-01T00:00:00.000Z" },
      ]);
      const create = async (title: string) => {
        const { status, body } = await send("POST", "/api/posts", { title }, ada);
        return [status, body.detail];
      };
      assertEquals(await create("veto"), [409, "Cannot create: not today"]);
      assertEquals(await create("late"), [403, "Cannot create: too late"]);
      assertEquals(await create("broken"), [500, "The service failed at this request"]);
      assertEquals((await send("DELETE", "/api/posts/old", undefined, ada)).status, 409);
      const { body } = await get("/api/posts");
      assertEquals(body.items.map((item: Post) => item.title), ["old"]);
    }),
);

testOnEveryEngine(
  "a hook that uses the outer database fails at once, and one that hangs ends",
  (engine) => {
    let outer: Service["db"] | null = null;
    const hang = gate();
    // The timer of a hook's limit does not keep a process alive, so another timer must.
    const alive = setInterval(() => undefined, 1_000);
    return withPosts(engine, {
      auth: { ...open, create: (user) => eq(posts.ownerId, user.id) },
      hooks: {
        timeoutMs: 300,
        onAfterCreate: async (_context, row) => {
          if (row.title === "outer") await outer?.driver.query({ text: "SELECT 1", values: [] });
          if (row.title === "hang") await hang.passed;
        },
      },
    }, async ({ db, get, send }) => {
      outer = db;
      for (const title of ["outer", "hang"]) {
        const startedAt = performance.now();
        assertEquals((await send("POST", "/api/posts", { title }, ada)).status, 500);
        assertEquals(performance.now() - startedAt < 3_000, true);
      }
      assertEquals((await send("POST", "/api/posts", { title: "fine" }, ada)).status, 201);
      assertEquals((await get("/api/posts/count")).body, { count: 1 });
      hang.open();
    }).finally(() => clearInterval(alive));
  },
);

testOnEngines(
  "computed fields see the whole row, are always present, and a failed one is null",
  (engine) =>
    withPosts(engine, {
      fields: { readable: [posts.id, posts.title] },
      computed: {
        headline: (row) => `${row.title} by ${row.ownerId}`,
        broken: () => {
          throw new Error("broken");
        },
      },
      auth: { ...open, create: (user) => eq(posts.ownerId, user.id) },
    }, async ({ get, observations, send }) => {
      const expected = { id: "p", title: "t", headline: "t by ada", broken: null };
      assertEquals((await send("POST", "/api/posts", { id: "p", title: "t" }, ada)).body, expected);
      assertEquals((await get("/api/posts/p")).body, expected);
      assertEquals((await get("/api/posts?select=id")).body.items, [
        { id: "p", headline: "t by ada", broken: null },
      ]);
      assertEquals((await send("PATCH", "/api/posts/p", {}, ada)).body, expected);
      assertEquals((await get("/api/posts?filter=headline==x")).status, 400);
      assertEquals((await get("/api/posts?orderBy=headline")).status, 400);
      assertEquals(observations.some(({ kind }) => kind === "computed_failed"), true);
    }),
);

const marks = {
  timestamp: table("by_timestamp", {
    id: integer().primaryKey(),
    title: text(),
    gone: timestamp(),
  }),
  boolean: table("by_boolean", {
    id: integer().primaryKey(),
    title: text(),
    gone: boolean().notNull().default(false),
  }),
  integer: table("by_integer", { id: integer().primaryKey(), title: text(), gone: integer() }),
  text: table("by_text", { id: integer().primaryKey(), title: text(), gone: text() }),
};
for (const [kind, rows] of Object.entries(marks)) {
  testOnEngines(
    `a row marked deleted by a ${kind} appears only with withDeleted, and is restored`,
    (engine) =>
      withService(engine, [rows], () => ({
        resources: [
          resource(tableInfoOf(rows), {
            id: "id",
            path: "rows",
            auth: open,
            softDelete: { field: "gone" },
          }),
        ],
      }), async ({ db, get, send }) => {
        await insertRows(
          db,
          rows,
          [{ id: 1, title: "a" }, { id: 2, title: "b" }].map((row) =>
            kind === "boolean" ? { ...row, gone: false } : row
          ),
        );
        // The mark is not writable like other fields: only DELETE and restore set it.
        await send("PATCH", "/api/rows/2", { gone: kind === "boolean" ? true : null }, ada);
        assertEquals((await get("/api/rows/count")).body.count, 2);
        assertEquals((await send("POST", "/api/rows/1/restore", undefined, ada)).status, 409);
        assertEquals((await send("DELETE", "/api/rows/1", undefined, ada)).status, 204);
        assertEquals((await send("DELETE", "/api/rows/1", undefined, ada)).status, 404);
        for (const method of ["PATCH", "PUT"]) {
          assertEquals((await send(method, "/api/rows/1", { title: "x" }, ada)).status, 404);
        }
        assertEquals((await get("/api/rows/1")).status, 404);
        assertEquals((await get("/api/rows/count")).body, { count: 1 });
        assertEquals((await get("/api/rows/count?withDeleted=true")).body, { count: 2 });
        assertEquals((await get("/api/rows?totalCount=true")).body.totalCount, 1);
        assertEquals((await get("/api/rows?withDeleted=true")).body.items.length, 2);
        assertEquals((await get("/api/rows?withDeleted=maybe")).status, 400);
        const restored = await send("POST", "/api/rows/1/restore", undefined, ada);
        assertEquals([restored.status, restored.body.title], [200, "a"]);
        assertEquals((await get("/api/rows/1")).status, 200);
        assertEquals((await send("POST", "/api/rows/9/restore", undefined, ada)).status, 404);
      }),
  );
}

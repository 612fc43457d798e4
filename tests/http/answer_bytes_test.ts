import { assert, assertEquals } from "@std/assert";
import { all, type AppConfig, integer, json, resource, table, text } from "../../mod.ts";
import type { Engine } from "../support/engines.ts";
import {
  type Answer,
  insertRows,
  type Service,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";

const authors = table("authors", {
  id: integer().primaryKey(),
  bio: text(),
  notes: text(),
});
const posts = table("posts", {
  id: integer().primaryKey(),
  authorId: integer().notNull().as("author_id"),
  body: text().notNull(),
});

/** Passes any value: the tests are not about schemas. */
const anything = {
  "~standard": {
    version: 1,
    vendor: "tests",
    validate: (value: unknown) => ({ value }),
  },
} as const;

function withPosts(
  engine: Engine,
  config: Pick<AppConfig, "maxAnswerBytes">,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(engine, [authors, posts], () => ({
    ...config,
    resources: [
      resource(authors, {
        id: authors.id,
        auth: { public: true, create: () => all(), update: () => all() },
        fields: { readable: [authors.id, authors.bio] },
        computed: { noted: (row) => row.notes?.length ?? 0 },
        relations: {
          posts: { type: "hasMany", resource: posts, foreignKey: posts.authorId },
        },
        nestedWrites: true,
      }),
      resource(posts, {
        id: posts.id,
        auth: { public: true, create: () => all(), update: () => all() },
        relations: {
          author: { type: "belongsTo", resource: authors, foreignKey: posts.authorId },
        },
        procedures: {
          repeat: {
            input: anything,
            output: anything,
            handler: (_context, count) => {
              const row = { body: "x".repeat(1_000) };
              return Array.from({ length: Number(count) }, () => row);
            },
          },
          named: {
            input: anything,
            output: anything,
            handler: (_context, length) => ({ ["語".repeat(Number(length))]: 1 }),
          },
        },
      }),
    ],
  }), work);
}

const ada = { "x-user": "ada" };

function post(id: number, body: string): typeof posts.$inferSelect {
  return { id, authorId: 1, body };
}

/** The length of the longest text that `work` writes as JSON. */
async function longestJson(work: () => Promise<unknown>): Promise<number> {
  const { stringify } = JSON;
  let longest = 0;
  JSON.stringify = (value: unknown, replacer?: unknown) => {
    const text = Reflect.apply(stringify, JSON, [value, replacer]);
    longest = Math.max(longest, text?.length ?? 0);
    return text;
  };
  try {
    await work();
  } finally {
    JSON.stringify = stringify;
  }
  return longest;
}

testOnEveryEngine(
  "a table of 2 MB made an answer of 198 MB: a row included by each other",
  (engine) =>
    withPosts(engine, {}, async ({ db, get }) => {
      await insertRows(db, authors, [{ id: 1, bio: "short", notes: "n".repeat(100_000) }]);
      const some = Array.from({ length: 99 }, (_, index) => post(index, "x".repeat(20_000)));
      await insertRows(db, posts, some);
      const path = "/api/posts?limit=99&include=author(include:posts)";
      const longest = await longestJson(async () => {
        const { status, body } = await get(path);
        assertEquals([status, body.code], [422, "QUERY_TOO_EXPENSIVE"]);
        assertEquals(body.details, { limit: 16 * 1024 * 1024, part: "author.posts" });
      });
      assert(longest < 16 * 1024 * 1024, `${longest} characters of JSON`);
      const smaller = await get("/api/posts?limit=20&include=author(include:posts(limit:5))");
      assertEquals([smaller.status, smaller.body.items[19].author.posts.length], [200, 5]);
      // The notes are read for a computed field, and no answer shows them.
      assertEquals((await get("/api/posts?limit=99&include=author&select=id")).status, 200);
    }),
);

testOnEngines(
  "a page of rows is an answer of at most maxAnswerBytes",
  (engine) =>
    withPosts(engine, { maxAnswerBytes: 100_000 }, async ({ db, get }) => {
      const some = Array.from({ length: 20 }, (_, index) => post(index, "x".repeat(10_000)));
      await insertRows(db, posts, some);
      const { status, body } = await get("/api/posts?limit=20");
      assertEquals([status, body.details], [422, { limit: 100_000, part: "rows" }]);
      const shorter = await get("/api/posts?limit=8");
      assertEquals([shorter.status, shorter.body.items.length], [200, 8]);
      const narrower = await get("/api/posts?limit=20&select=id");
      assertEquals([narrower.status, narrower.body.items.length], [200, 20]);
    }),
);

testOnEngines(
  "an answer of megabytes kept the process busy until it was written: now it is written in parts",
  (engine) =>
    withPosts(engine, {}, async ({ db, get }) => {
      const some = Array.from({ length: 40 }, (_, index) => post(index, "語".repeat(30_000)));
      await insertRows(db, posts, some);
      const atOnce = async (path: string, rowsOf: (body: Answer["body"]) => unknown) => {
        let rows: unknown;
        const longest = await longestJson(async () => rows = rowsOf((await get(path)).body));
        assert(longest < 200_000, `${longest} characters at once`);
        assertEquals(rows, some);
      };
      await insertRows(db, authors, [{ id: 1, bio: "short", notes: null }]);
      await atOnce("/api/posts?limit=40", ({ items }) => items);
      await atOnce("/api/posts/1?include=author(include:posts)", ({ author }) => author.posts);
      const { status, body } = await get("/api/posts/aggregate?groupBy=id,body&limit=40");
      assertEquals([status, body.groups.length], [200, 40]);
    }),
);

testOnEngines(
  "texts that are six times as long in JSON count as they are sent",
  (engine) =>
    withPosts(engine, { maxAnswerBytes: 100_000 }, async ({ db, get }) => {
      const control = Array.from({ length: 10 }, (_, index) => post(index, "\u0001".repeat(3_000)));
      await insertRows(db, posts, control);
      const longest = await longestJson(async () => {
        const { status, body } = await get("/api/posts?limit=8");
        assertEquals([status, body.details], [422, { limit: 100_000, part: "rows" }]);
      });
      assert(longest <= 100_000, `${longest} characters of JSON`);
      assertEquals((await get("/api/posts?limit=5")).body.items.length, 5);
      await db.driver.query({ text: "DELETE FROM posts", values: [] });
      await insertRows(db, posts, [post(1, "\u{4e00}".repeat(40_000))]);
      assertEquals((await get("/api/posts/1")).status, 422);
    }),
);

testOnEngines(
  "a row is an answer of at most maxAnswerBytes, with what it includes",
  (engine) =>
    withPosts(engine, { maxAnswerBytes: 100_000 }, async ({ db, get }) => {
      await insertRows(db, authors, [
        { id: 1, bio: "b".repeat(20_000), notes: "n".repeat(90_000) },
        { id: 2, bio: "b".repeat(200_000), notes: null },
      ]);
      const some = Array.from({ length: 9 }, (_, index) => post(index, "x".repeat(10_000)));
      await insertRows(db, posts, some);
      assertEquals((await get("/api/authors/1")).status, 200);
      const alone = await get("/api/authors/2");
      assertEquals([alone.status, alone.body.details], [422, { limit: 100_000, part: "rows" }]);
      assertEquals((await get("/api/authors/2?select=id")).status, 200);
      const around = await get("/api/authors/1?include=posts");
      assertEquals([around.status, around.body.details], [422, { limit: 100_000, part: "posts" }]);
      assertEquals((await get("/api/authors/1?include=posts(limit:5)")).status, 200);
    }),
);

testOnEngines(
  "the groups of an aggregate are an answer of at most maxAnswerBytes",
  (engine) =>
    withPosts(engine, { maxAnswerBytes: 100_000 }, async ({ db, get }) => {
      const some = Array.from({ length: 20 }, (_, id) => post(id, `${id}`.padEnd(10_000, "x")));
      await insertRows(db, posts, some);
      const path = "/api/posts/aggregate?groupBy=body&max=body&count=true";
      const { status, body } = await get(path);
      assertEquals([status, body.details], [422, { limit: 100_000, part: "groups" }]);
      assertEquals((await get(`${path}&limit=2`)).status, 200);
    }),
);

testOnEngines(
  "the data of a procedure is an answer of at most maxAnswerBytes",
  (engine) =>
    withPosts(engine, { maxAnswerBytes: 100_000 }, async ({ send }) => {
      const call = (count: number) => send("POST", "/api/posts/rpc/repeat", String(count), ada);
      assertEquals((await call(50)).body.data.length, 50);
      const longest = await longestJson(async () => {
        const { status, body } = await call(100_000);
        assertEquals([status, body.details], [422, { limit: 100_000, part: "data" }]);
      });
      assert(longest <= 100_000, `${longest} characters of JSON`);
    }),
);

testOnEngines(
  "names of members in letters of three bytes made an answer of more than maxAnswerBytes",
  (engine) =>
    withPosts(engine, { maxAnswerBytes: 100_000 }, async ({ send }) => {
      const call = (length: number) => send("POST", "/api/posts/rpc/named", String(length), ada);
      assertEquals((await call(30_000)).status, 200);
      const { status, body } = await call(50_000);
      assertEquals([status, body.details], [422, { limit: 100_000, part: "data" }]);
    }),
);

testOnEngines(
  "a computed field of letters of three bytes made an answer of more than maxAnswerBytes",
  (engine) =>
    withService(engine, [posts], () => ({
      maxAnswerBytes: 100_000,
      resources: [
        resource(posts, {
          id: posts.id,
          auth: { public: true },
          computed: { long: (row) => "語".repeat(row.authorId) },
        }),
      ],
    }), async ({ db, get }) => {
      await insertRows(db, posts, [{ id: 1, authorId: 50_000, body: "" }]);
      const { status, body } = await get("/api/posts/1");
      assertEquals([status, body.details], [422, { limit: 100_000, part: "rows" }]);
      assertEquals((await get("/api/posts")).status, 422);
    }),
);

testOnEngines(
  "the rows of a batch are an answer of at most maxAnswerBytes, or not written",
  (engine) =>
    withPosts(engine, { maxAnswerBytes: 100_000 }, async ({ db, get, send }) => {
      const some = Array.from({ length: 12 }, (_, id) => post(id, "x".repeat(10_000)));
      await insertRows(db, posts, some);
      const items = some.map(({ id, authorId }) => ({ id, authorId: authorId + 1 }));
      const upsert = (count: number) =>
        send("POST", "/api/posts/batch/upsert", { items: items.slice(0, count) }, ada);
      const refused = await upsert(12);
      assertEquals([refused.status, refused.body.details], [422, { limit: 100_000, part: "rows" }]);
      assertEquals((await get("/api/posts/count?filter=authorId==2")).body, { count: 0 });
      assertEquals((await upsert(8)).status, 200);
      assertEquals((await get("/api/posts/count?filter=authorId==2")).body, { count: 8 });
      const control = "\u0001".repeat(900);
      const created = Array.from({ length: 30 }, (_, id) => post(100 + id, control));
      const batch = (items: unknown) => send("POST", "/api/posts/batch", { items }, ada);
      assertEquals((await batch(created)).status, 422);
      assertEquals((await get("/api/posts/count?filter=id>=100")).body, { count: 0 });
      assertEquals((await batch(created.slice(0, 10))).status, 201);
    }),
);

const papers = table("papers", { id: integer().primaryKey(), content: json() });

testOnEngines(
  "documents of a megabyte that were a hundred thousand arrays took the memory of the process",
  (engine) =>
    withService(engine, [papers], () => ({
      resources: [
        resource(papers, { id: papers.id, auth: { public: true, create: () => all() } }),
      ],
    }), async ({ db, get, send }) => {
      const content = Array.from({ length: 100_000 }, () => []);
      const ids = Array.from({ length: 6 }, (_, id) => id);
      await insertRows(db, papers, ids.map((id) => ({ id, content })));
      const { status, body } = await get("/api/papers?limit=6");
      assertEquals([status, body.details?.part], [422, "rows"]);
      assertEquals((await get("/api/papers?limit=6&select=id")).body.items.length, 6);
      assertEquals((await get("/api/papers/3")).body.content, content);
      // They would be refused as a body.
      const sent = await send(
        "POST",
        "/api/papers",
        { id: 7, content: [...content, ...content] },
        ada,
      );
      assertEquals([sent.status, sent.body.code], [413, "PAYLOAD_TOO_LARGE"]);
      const some = content.slice(0, 50_000);
      assertEquals((await send("POST", "/api/papers", { id: 8, content: some }, ada)).status, 201);
    }),
);

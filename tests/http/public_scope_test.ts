import { assertEquals } from "@std/assert";
import {
  all,
  and,
  eq,
  type Filter,
  gt,
  integer,
  isNull,
  none,
  resource,
  rsql,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import type { ScopeOptions } from "../../exports/options.ts";
import { databaseSearch } from "../../exports/search.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { handClock } from "../db/hand_clock.ts";
import { untilIdle } from "../live/hub_support.ts";
import { type Engine, engines } from "../support/engines.ts";
import {
  insertRows,
  type Service,
  testOnDialects,
  testOnEngines,
  withService,
} from "../support/http.ts";

const authors = table("authors", {
  id: integer().primaryKey(),
  name: text().notNull(),
  hiddenAt: timestamp().as("hidden_at"),
});
const posts = table("posts", {
  id: integer().primaryKey(),
  authorId: integer().notNull().as("author_id"),
  ownerId: text().notNull().as("owner_id"),
  status: text().notNull(),
});

const ada = { "x-user": "ada" };
const bob = { "x-user": "bob" };

/** Posts that are published are open to all; each user has posts of their own. */
const publishedOrOwn: ScopeOptions = {
  public: {
    read: () => eq(posts.status, "published"),
    subscribe: () => eq(posts.status, "published"),
  },
  read: (user) => eq(posts.ownerId, user.id),
  subscribe: (user) => eq(posts.ownerId, user.id),
  update: (user) => eq(posts.ownerId, user.id),
  create: () => all(),
};

function withPosts(
  engine: Engine,
  auth: ScopeOptions,
  work: (service: Service) => Promise<void>,
  config: object = {},
): Promise<void> {
  return withService(engine, [authors, posts], () => ({
    resources: [
      resource(authors, {
        id: authors.id,
        auth: { public: { read: () => isNull(authors.hiddenAt) } },
        relations: { posts: { type: "hasMany", resource: posts, foreignKey: posts.authorId } },
      }),
      resource(posts, {
        id: posts.id,
        auth,
        relations: {
          author: {
            type: "belongsTo",
            resource: authors,
            foreignKey: posts.authorId,
            filterable: true,
          },
        },
      }),
    ],
    ...config,
  }), async (service) => {
    await insertRows(service.db, authors, [
      { id: 1, name: "Ann", hiddenAt: null },
      { id: 2, name: "Ben", hiddenAt: "2026-01-01T00:00:00Z" },
    ]);
    await insertRows(service.db, posts, [
      { id: 1, authorId: 1, ownerId: "ada", status: "published" },
      { id: 2, authorId: 1, ownerId: "ada", status: "draft" },
      { id: 3, authorId: 2, ownerId: "bob", status: "published" },
      { id: 4, authorId: 2, ownerId: "bob", status: "draft" },
    ]);
    await work(service);
  });
}

const idsOf = (items: readonly { readonly id: number }[]) => items.map(({ id }) => id);

testOnEngines(
  "a public filter shows its rows to every caller, and a user those of their scope as well",
  (engine) =>
    withPosts(engine, publishedOrOwn, async ({ get }) => {
      const callers: readonly (readonly [headers: Record<string, string>, ids: number[]])[] = [
        [{}, [1, 3]],
        [ada, [1, 2, 3]],
        [bob, [1, 3, 4]],
      ];
      for (const [headers, ids] of callers) {
        assertEquals(idsOf((await get("/api/posts", headers)).body.items), ids);
        assertEquals((await get("/api/posts/count", headers)).body, { count: ids.length });
        const page = (await get("/api/posts?limit=1&totalCount=estimated", headers)).body;
        assertEquals([page.totalCount, page.totalCountEstimated], [ids.length, undefined]);
        const { groups } =
          (await get("/api/posts/aggregate?groupBy=status&count=true", headers)).body;
        const drafts = ids.filter((id) => id % 2 === 0).length;
        assertEquals(groups, [
          ...(drafts === 0 ? [] : [{ key: { status: "draft" }, count: drafts }]),
          { key: { status: "published" }, count: 2 },
        ]);
        for (const id of [1, 2, 3, 4]) {
          const { status } = await get(`/api/posts/${id}`, headers);
          assertEquals([id, status], [id, ids.includes(id) ? 200 : 404]);
        }
      }
    }),
);

testOnEngines(
  "included rows and filters along relations follow the public filter of the other resource",
  (engine) =>
    withPosts(engine, publishedOrOwn, async ({ get }) => {
      const authorOf = async (id: number, headers = {}) =>
        (await get(`/api/posts/${id}?include=author(select:name)`, headers)).body.author;
      assertEquals(await authorOf(1), { name: "Ann" });
      // Ben is hidden from every caller.
      assertEquals(await authorOf(3), null);
      assertEquals(await authorOf(4, bob), null);
      const postsOf = async (headers = {}) =>
        idsOf((await get("/api/authors/1?include=posts", headers)).body.posts);
      assertEquals([await postsOf(), await postsOf(ada), await postsOf(bob)], [[1], [1, 2], [1]]);
      const byAuthor = async (name: string, headers = {}) =>
        idsOf((await get(`/api/posts?filter=author.name==${name}`, headers)).body.items);
      assertEquals([await byAuthor("Ann"), await byAuthor("Ben", bob)], [[1], []]);
    }),
);

testOnEngines(
  "streams of rows and of aggregates follow the public filter of subscribe, and not that of read",
  (engine) => {
    const { subscribe } = publishedOrOwn;
    const open = { subscribe: () => and(eq(posts.status, "published"), gt(posts.id, 1)) };
    const auth: ScopeOptions = { public: open, subscribe, update: () => all() };
    return withPosts(engine, auth, async (service) => {
      const first = async (headers = {}) => {
        const stream = await service.subscribe("/api/posts/subscribe", headers);
        const [page] = await stream.untilSynced();
        return { stream, ids: idsOf(page?.data.items) };
      };
      const anyone = await first();
      const user = await first(bob);
      assertEquals([anyone.ids, user.ids], [[3], [3, 4]]);
      const counted = async (headers = {}) => {
        const path = "/api/posts/aggregate/subscribe?count=true";
        const stream = await service.subscribe(path, headers);
        const [first] = await stream.take(1);
        await stream.close();
        return first?.data.groups;
      };
      assertEquals(await counted(), [{ key: null, count: 1 }]);
      assertEquals(await counted(bob), [{ key: null, count: 2 }]);
      // What becomes public is added for every caller; what is public no more remains for its owner.
      await service.send("PATCH", "/api/posts/2", { status: "published" }, ada);
      assertEquals((await anyone.stream.take(1))[0]?.data.id, 2);
      assertEquals((await user.stream.take(1))[0]?.data.id, 2);
      await service.send("PATCH", "/api/posts/3", { status: "draft" }, ada);
      const [lost] = await anyone.stream.take(1);
      const [kept] = await user.stream.take(1);
      assertEquals([lost?.type, lost?.data.id], ["removed", 3]);
      assertEquals([kept?.type, kept?.data.id], ["changed", 3]);
      for (const { stream } of [anyone, user]) await stream.close();
      assertEquals((await service.get("/api/posts")).status, 401);
      assertEquals((await service.get("/api/posts", ada)).status, 403);
    });
  },
);

testOnEngines(
  "what a public filter shows may not be written, and its rows are no secret to users",
  (engine) =>
    withPosts(engine, publishedOrOwn, async ({ send }) => {
      const patch = async (id: number, headers = {}) =>
        (await send("PATCH", `/api/posts/${id}`, { status: "draft" }, headers)).status;
      assertEquals(await patch(3), 401);
      assertEquals([await patch(3, ada), await patch(4, ada), await patch(2, ada)], [
        403,
        404,
        200,
      ]);
    }),
);

testOnDialects(
  "searches, exports, pages, tags, batches and the index follow the public filter",
  (engine) =>
    withService(engine, [posts], () => ({
      search: databaseSearch(),
      resources: [
        resource(posts, {
          id: posts.id,
          auth: publishedOrOwn,
          etag: {},
          capabilities: { enableExport: true },
          search: { fields: [posts.status] },
        }),
      ],
    }), async ({ db, app, get, send, subscribe }) => {
      await insertRows(
        db,
        posts,
        ["published", "draft", "published", "draft", "published"].map((status, index) => (
          { id: index + 1, authorId: 1, ownerId: index < 2 ? "ada" : "bob", status }
        )),
      );
      await app.reindex();
      const found = async (word: string, headers = {}) => {
        const { body } = await get(`/api/posts/search?q=${word}`, headers);
        return [idsOf(body.items).toSorted(), body.total];
      };
      assertEquals(await found("published"), [[1, 3, 5], 3]);
      assertEquals([await found("draft"), await found("draft", bob)], [[[], 0], [[4], 1]]);
      for (const [headers, ids] of [[{}, [1, 3, 5]], [ada, [1, 2, 3, 5]]] as const) {
        const accept = { accept: "application/x-ndjson", ...headers };
        const lines = (await get("/api/posts", accept)).body.trim().split("\n");
        assertEquals(lines.map((line: string) => JSON.parse(line).id), ids);
      }
      // The cursor of a user continues in the rows of the caller.
      const page = (await get("/api/posts?limit=2", ada)).body;
      assertEquals(idsOf(page.items), [1, 2]);
      const rest = (await get(`/api/posts?limit=9&cursor=${page.nextCursor}`)).body;
      assertEquals(idsOf(rest.items), [3, 5]);
      const tag = (await get("/api/posts/2", ada)).headers.get("etag") ?? "";
      const known = { "if-none-match": tag };
      assertEquals((await get("/api/posts/2", { ...known, ...ada })).status, 304);
      assertEquals([(await get("/api/posts/2", known)).status], [404]);
      const batch = { filter: "id>0", patch: { status: "draft" } };
      assertEquals((await send("PATCH", "/api/posts/batch", batch)).status, 401);
      const { resources: [entry] } = (await get("/api")).body;
      const offered = (entry?.requests ?? []).map(({ operation }: { operation: string }) =>
        operation
      );
      assertEquals(offered.includes("list") && offered.includes("subscribe"), true);
      assertEquals(offered.includes("create"), false);
      const stream = await subscribe("/api/posts/subscribe?resumeFrom=");
      assertEquals(idsOf((await stream.untilSynced())[0]?.data.items), [1, 3, 5]);
      await stream.close();
      assertEquals((await send("PATCH", "/api/posts/batch", batch, ada)).status, 200);
      const statuses = async (headers: object) =>
        (await get("/api/posts/aggregate?groupBy=status&count=true", { ...headers })).body.groups;
      assertEquals(await statuses({}), [{ key: { status: "published" }, count: 2 }]);
    }),
);

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

Deno.test("a public filter is made for each request; none() denies, and an error does, too", async () => {
  let rows: () => Filter<"posts"> = () => all();
  const auth: ScopeOptions = {
    public: { read: () => Promise.resolve(rows()) },
    read: (user) => rsql`ownerId==${user.id}`,
  };
  await withPosts(sqlite, auth, async ({ get, observations }) => {
    const seen = async (headers = {}) => {
      const { status, body } = await get("/api/posts", headers);
      return status === 200 ? idsOf(body.items) : status;
    };
    assertEquals([await seen(), await seen(ada)], [[1, 2, 3, 4], [1, 2, 3, 4]]);
    rows = () => eq(posts.id, 4);
    assertEquals([await seen(), await seen(ada)], [[4], [1, 2, 4]]);
    rows = () => none();
    assertEquals([await seen(), await seen(ada)], [401, [1, 2]]);
    rows = () => eq(posts.status, undefined);
    assertEquals([await seen(), await seen(ada)], [401, [1, 2]]);
    rows = () => {
      throw new Error("the public scope is broken");
    };
    assertEquals([await seen(), await seen(ada)], [500, 500]);
    assertEquals(observations.filter(({ kind }) => kind === "request_failed").length, 2);
  });
});

Deno.test("streams without a user begin again when a public filter has become another one", async () => {
  const { clock, advance } = handClock();
  const runtime = { ...systemRuntime(() => {}), clock };
  let status = "published";
  const auth: ScopeOptions = { public: { subscribe: () => eq(posts.status, status) } };
  await withPosts(sqlite, auth, async ({ subscribe }) => {
    const stream = await subscribe("/api/posts/subscribe");
    const [page] = await stream.untilSynced();
    assertEquals(idsOf(page?.data.items), [1, 3]);
    status = "draft";
    advance(60_000);
    await untilIdle();
    const [invalidate, again] = await stream.take(2);
    assertEquals(invalidate?.data.reason, "scope_changed");
    assertEquals(idsOf(again?.data.items), [2, 4]);
    await stream.close();
  }, { runtime });
});

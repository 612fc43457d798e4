import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { all, eq, integer, json, resource, table, text } from "../../mod.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";
import { budget, solved, withGuard } from "./guard_support.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  owner: text().notNull(),
  title: text().notNull(),
  secret: text(),
  data: json(),
});

const served = () => ({
  resources: [
    resource(notes, {
      id: notes.id,
      auth: {
        public: { read: () => eq(notes.owner, "all") },
        read: ({ id }) => eq(notes.owner, id),
        create: all,
      },
      fields: { readable: [notes.id, notes.title, notes.owner, notes.data] },
      capabilities: { enableExport: true },
    }),
  ],
});

const rows = Array.from({ length: 30 }, (_, index) => ({
  id: index + 1,
  owner: index % 3 === 0 ? "all" : "ada",
  title: `note ${index % 7}`,
  secret: `xyzzy-${index}`,
}));

testOnEngines(
  "POST /query answers as GET / with the same parameters",
  (engine) =>
    withService(engine, [notes], served, async ({ db, get, send }) => {
      await insertRows(db, notes, rows);
      const queries: readonly Record<string, unknown>[] = [
        {},
        { filter: 'title=="note 1"', orderBy: "-id", totalCount: true },
        { limit: 3, offset: 2, select: ["id", "title"] },
        { limit: "3", select: "title", cursor: null },
        {
          filter: `id=in=(${Array.from({ length: 200 }, (_, n) => n)})`,
          orderBy: ["title", "-id"],
        },
        { filter: "secret==a" },
        { filter: "title==" },
        { orderBy: "secret" },
        { limit: 0 },
        { where: "id==1" },
        { cursor: "none" },
      ];
      for (const user of [{}, { "x-user": "ada" }, { "x-user": "bob" }]) {
        for (const query of queries) {
          const asText = Object.entries(query).flatMap(([name, value]) =>
            value === null ? [] : [`${name}=${encodeURIComponent(`${value}`)}`]
          );
          const inUrl = await get(`/api/notes?${asText.join("&")}`, user);
          const inBody = await send("POST", "/api/notes/query", query, user);
          const comparable = ({ status, body }: typeof inUrl) => {
            const { nextCursor, instance: _path, requestId: _id, ...rest } = body;
            return [status, rest, nextCursor === null, typeof nextCursor];
          };
          assertEquals(comparable(inBody), comparable(inUrl), JSON.stringify(query));
        }
      }
      const filterOf = (length: number) => `id=in=(${Array.from({ length }, (_, n) => n + 4)})`;
      const many = await send("POST", "/api/notes/query", {
        filter: filterOf(1_000),
        select: "id",
      });
      assertEquals(many.body.items.map(({ id }: { id: number }) => id), [
        4,
        7,
        10,
        13,
        16,
        19,
        22,
        25,
        28,
      ]);
      const tooMany = await send("POST", "/api/notes/query", { filter: filterOf(1_001) });
      assertEquals([tooMany.status, tooMany.body.code], [400, "FILTER_PARSE_ERROR"]);
      assertEquals((await get(`/api/notes?filter=${filterOf(201)}`)).status, 400);
      const title = `title==${"y".repeat(70_000)}`;
      assertEquals((await send("POST", "/api/notes/query", { filter: title })).status, 400);

      const first = await send("POST", "/api/notes/query", { limit: 4 });
      const next = await send("POST", "/api/notes/query", { cursor: first.body.nextCursor });
      assertEquals([...first.body.items, ...next.body.items].length, 10);
      assertEquals((await get(`/api/notes?cursor=${first.body.nextCursor}`)).body, next.body);

      const csv = await send("POST", "/api/notes/query", { select: "id" }, { accept: "text/csv" });
      assertEquals(csv.body, (await get("/api/notes?select=id", { accept: "text/csv" })).body);
      assertEquals(csv.headers.get("etag"), null);
    }),
);

testOnEngines(
  "a page of POST /query has an ETag, and is a 304 while it is the same",
  (engine) =>
    withService(engine, [notes], served, async ({ db, send }) => {
      await insertRows(db, notes, rows);
      const query = (headers: Record<string, string>, body = {}) =>
        send("POST", "/api/notes/query", body, headers);
      const first = await query({});
      const etag = first.headers.get("etag") ?? "";
      assert(/^W\/"[\w-]{43}"$/.test(etag), etag);
      const again = await query({ "if-none-match": `"a", ${etag}` });
      assertEquals([again.status, again.body, again.headers.get("etag")], [304, "", etag]);
      assertEquals(again.headers.get("cache-control"), "private, no-cache");
      assertEquals((await query({ "if-none-match": '"a"' })).status, 200);
      // Pages with a next page have an ETag too, although each response has another cursor.
      for (const page of [{ limit: 2 }, { limit: 2, orderBy: "-title" }, { limit: 3 }]) {
        const one = await query({}, page);
        const headers = { "if-none-match": one.headers.get("etag") ?? "" };
        assertEquals([one.status, one.body.hasMore], [200, true]);
        assertEquals((await query(headers, page)).status, 304);
        const { nextCursor: cursor } = one.body;
        assertEquals((await query(headers, { ...page, cursor })).status, 200);
        assertEquals((await query(headers, { ...page, totalCount: true })).status, 200);
      }
      // A row can contain members with the names of a page.
      const members = (value: string) => `{"items":[],"nextCursor":"${value}","hasMore":true}`;
      const title = (value: string) =>
        db.sql`UPDATE ${notes} SET ${notes.title} = ${members(value)}, ${notes.data} = ${{
          nextCursor: value,
          hasMore: true,
        }} WHERE ${notes.id} = ${28}`;
      await title("a");
      const tagOfA = (await query({})).headers.get("etag") ?? "";
      assertEquals((await query({ "if-none-match": tagOfA })).status, 304);
      await title("b");
      assertEquals((await query({ "if-none-match": tagOfA })).status, 200);
      await db.sql`UPDATE ${notes} SET ${notes.title} = ${"note 6"}, ${notes.data} = NULL
        WHERE ${notes.id} = ${28}`;
      // Another user, page or form of numbers is another response.
      assertEquals((await query({ "if-none-match": etag, "x-user": "ada" })).status, 200);
      assertEquals((await query({ "if-none-match": etag }, { limit: 3 })).status, 200);
      const others = [{ id: 99, owner: "bob", title: "of bob", secret: null }];
      await insertRows(db, notes, others);
      assertEquals((await query({ "if-none-match": etag })).status, 304);
      await insertRows(db, notes, [{ ...others[0]!, id: 100, owner: "all" }]);
      assertEquals((await query({ "if-none-match": etag })).status, 200);

      // A response that is written in parts has one, too.
      const long = Array.from({ length: 90 }, (_, index) => ({
        id: 1000 + index,
        owner: "all",
        title: "x".repeat(9_000),
        secret: null,
      }));
      await insertRows(db, notes, long);
      const large = await query({}, { limit: 100, filter: "id>=1000" });
      assertEquals(large.body.items.length, 90);
      const tag = large.headers.get("etag") ?? "";
      assert(tag.length === 47, tag);
      const known = await query({ "if-none-match": tag }, { limit: 100, filter: "id>=1000" });
      assertEquals([known.status, known.body], [304, ""]);
    }),
);

testOnEngines(
  "POST /query refuses other bodies, and executes a request with a key again",
  (engine) =>
    withService(engine, [notes], served, async ({ db, get, send }) => {
      const detail = async (body: unknown, path = "/api/notes/query") => {
        const answer = await send("POST", path, body);
        return `${answer.status} ${answer.body.detail}`;
      };
      assertStringIncludes(await detail([]), "400 Cannot use this body: it must be a JSON object");
      assertStringIncludes(await detail({ filter: {} }), '400 Cannot use "filter": it must be');
      assertStringIncludes(await detail({ filtr: "id==1" }), 'did you mean "filter"?');
      assertStringIncludes(await detail({}, "/api/notes/query?limit=3"), '400 Cannot use "limit"');
      assertEquals(
        (await send("POST", "/api/notes/query", "limit=3", {
          "content-type": "application/x-www-form-urlencoded",
        })).status,
        415,
      );
      assertEquals((await get("/api/notes/query")).status, 405);

      const headers = { "idempotency-key": "1", "x-user": "ada" };
      assertEquals((await send("POST", "/api/notes/query", {}, headers)).body.items.length, 0);
      await insertRows(db, notes, rows);
      assertEquals((await send("POST", "/api/notes/query", {}, headers)).body.items.length, 20);
    }),
);

Deno.test("POST /query costs as much as GET /, with rate limit, budget and proof of work", async () => {
  const cost = { read: 7, create: 100, update: 100, delete: 100 };
  const config = { abuseProtection: { budget: budget(1_000) } };
  await withGuard(config, { cost }, async ({ send }) => {
    const left = async (method: string, path: string, body?: unknown) =>
      Number(
        /;r=(\d+)/.exec(
          (await send(method, path, { body, user: "bob" })).headers.get("ratelimit") ?? "",
        )?.[1],
      );
    assertEquals(await left("GET", "/api/notes"), 993);
    assertEquals(await left("POST", "/api/notes/query", {}), 986);
  });
  const pow = { secret: "a secret for the tests only", difficulty: 6 };
  const gated = { pow: { operations: ["read"] as const } };
  await withGuard({ abuseProtection: { pow } }, gated, async ({ send }) => {
    assertEquals((await send("GET", "/api/notes")).status, 428);
    const refused = await send("POST", "/api/notes/query", { body: {} });
    assertEquals(refused.status, 428);
    const headers = await solved(refused);
    assertEquals((await send("POST", "/api/notes/query", { body: {}, headers })).status, 200);
    assertEquals((await send("POST", "/api/notes/query", { body: {}, headers })).status, 428);
  });
  const rateLimit = { windowMs: 60_000, maxRequests: 1 };
  await withGuard({}, { rateLimit }, async ({ send }) => {
    assertEquals((await send("GET", "/api/notes", { user: "bob" })).status, 200);
    assertEquals((await send("POST", "/api/notes/query", { body: {}, user: "bob" })).status, 429);
  });
});

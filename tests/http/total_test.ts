import { assert, assertEquals } from "@std/assert";
import { all, eq, integer, resource, type ResourceOptions, table, text } from "../../mod.ts";
import type { Engine } from "../support/engines.ts";
import { type Service, testOnEngines, testOnEveryEngine, withService } from "../support/http.ts";
import { run } from "../support/scratch.ts";

const owners = table("owners", { id: integer().primaryKey(), name: text() });
const items = table("items", {
  id: integer().primaryKey(),
  ownerId: integer().as("owner_id").references(() => owners.id),
  word: text(),
});

const path = "/api/items?totalCount=estimated&limit=1";
const ada = { "x-user": "ada" };

function withItems(
  engine: Engine,
  options: Partial<ResourceOptions<typeof items.$inferSelect>>,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(engine, [owners, items], () => ({
    resources: [
      resource(owners, { id: owners.id }),
      resource(items, {
        id: items.id,
        auth: { public: true },
        relations: {
          owner: { type: "belongsTo", resource: owners, foreignKey: items.ownerId },
        },
        ...options,
      }),
    ],
  }), work);
}

/** `count` items of the owners 1 to 10; every other item is "even". */
async function fill({ db }: Service, count: number): Promise<void> {
  const numbers = (last: number) =>
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${last})`;
  await run(db, `${numbers(10)} INSERT INTO owners SELECT i, 'owner' FROM n`);
  await run(
    db,
    `${numbers(count)} INSERT INTO items ` +
      "SELECT i, i % 10 + 1, CASE i % 2 WHEN 0 THEN 'even' ELSE 'odd' END FROM n",
  );
  await run(db, "ANALYZE");
}

/** The total, marked where it is an estimate. */
async function total({ get }: Service, query = "", headers = {}): Promise<string> {
  const { status, body } = await get(path + query, headers);
  assertEquals(status, 200);
  const { totalCount, totalCountEstimated } = body;
  if (totalCountEstimated === undefined) return String(totalCount);
  assertEquals(totalCountEstimated, true);
  return `about ${Math.round(totalCount / 1000)}k`;
}

testOnEngines(
  "the error of a wrong totalCount did not name the value estimated",
  (engine) =>
    withItems(engine, {}, async ({ get }) => {
      const { status, body } = await get("/api/items?totalCount=estimate");
      const detail = 'Cannot use "totalCount": it must be true, false or estimated';
      assertEquals([status, body.detail], [400, detail]);
    }),
);

testOnEveryEngine(
  "an estimated total is near the count, and marked, where the engine estimates",
  (engine) =>
    withItems(engine, {}, async (service) => {
      await fill(service, 10_000);
      const guesses = service.db.dialect.estimate !== null;
      assertEquals(await total(service), guesses ? "about 10k" : "10000");
      assertEquals(await total(service, "&filter=word==even"), guesses ? "about 5k" : "5000");
      assertEquals(
        await total(service, "&filter=id=between=(1001,9000);word=in=(even,odd)"),
        guesses ? "about 8k" : "8000",
      );
      const { body } = await service.get(path);
      const next = await service.get(`${path}&cursor=${body.nextCursor}`);
      assertEquals(next.body.totalCount, body.totalCount);
      const exact = await service.get("/api/items?totalCount=true&limit=1");
      assertEquals([exact.body.totalCount, "totalCountEstimated" in exact.body], [10_000, false]);
      assertEquals((await service.get("/api/items/count")).body, { count: 10_000 });
    }),
);

testOnEngines(
  "an estimated total is counted where few rows are expected",
  (engine) =>
    withItems(engine, {}, async (service) => {
      // There are no statistics of an empty table, for which planners assume some pages.
      assertEquals(await total(service), "0");
      await run(service.db, "INSERT INTO items (id) VALUES (1), (2), (3)");
      assertEquals(await total(service), "3");
      const { body } = await service.get(path);
      const last = await service.get(
        `${path}&limit=2&cursor=${body.nextCursor}`.replace("limit=1&", ""),
      );
      assertEquals([last.body.hasMore, last.body.totalCount], [false, 3]);
      await run(service.db, "DELETE FROM items");
      await fill(service, 10_000);
      assertEquals(await total(service, "&filter=id<2001"), "2000");
      assertEquals(await total(service, "&filter=ownerId==3"), "1000");
      assertEquals(await total(service, "&filter=ownerId==77"), "0");
    }),
);

testOnEngines(
  "an estimated total reveals no statistics of rows outside of the scope",
  (engine) =>
    withItems(engine, {
      auth: { read: (user) => user.id === "ada" ? eq(items.word, "even") : all() },
    }, async (service) => {
      await fill(service, 10_000);
      assertEquals(await total(service, "", ada), "5000");
      assertEquals(await total(service, "&filter=id>10", ada), "4995");
      const guesses = service.db.dialect.estimate !== null;
      assertEquals(await total(service, "", { "x-user": "root" }), guesses ? "about 10k" : "10000");
    }),
);

testOnEngines(
  "an estimated total under a scope that walks a relation is counted",
  (engine) =>
    withItems(engine, { auth: { read: () => "owner.name==owner" } }, async (service) => {
      await fill(service, 10_000);
      assertEquals(await total(service, "", ada), "10000");
    }),
);

testOnEngines(
  "an estimate is never less than the number of rows on its page",
  (engine) =>
    withItems(engine, { pagination: { maxLimit: 20_000 } }, async (service) => {
      await fill(service, 3_000);
      // Statistics from before these rows, which are all even.
      const more =
        "WITH RECURSIVE n(i) AS (SELECT 3001 UNION ALL SELECT i + 1 FROM n WHERE i < 9000)";
      await run(service.db, `${more} INSERT INTO items SELECT i, 1, 'even' FROM n`);
      const { body } = await service.get(
        "/api/items?totalCount=estimated&limit=7000&filter=word==even",
      );
      assert(body.totalCount >= body.items.length, `${body.totalCount}`);
    }),
);

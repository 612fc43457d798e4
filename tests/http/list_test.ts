import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  bigint,
  boolean,
  createApp,
  decimal,
  integer,
  real,
  resource,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import {
  insertRows,
  type Service,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";
import { engines } from "../support/engines.ts";
import { testUnless } from "../support/skip.ts";

const items = table("items", {
  id: integer().primaryKey(),
  name: text(),
  code: text().notNull(),
  amount: integer(),
  ratio: real(),
  price: decimal({ precision: 10, scale: 2 }),
  serial: bigint(),
  at: timestamp(),
  done: boolean(),
});
type Item = typeof items.$inferSelect;

const served = () => ({
  resources: [resource(items, { id: items.id, auth: { public: true } })],
});

// Ties, NULLs, microseconds, 2^53 and its neighbours, −0, combining characters, wildcards.
const value = {
  name: fc.option(fc.constantFrom("", "a", "A", "á", "a\u0301", "B", "Z", "👍", "%", "_", "\\")),
  code: fc.constantFrom("x", "y", "Z", "ž", ""),
  amount: fc.option(fc.constantFrom(-1, 0, 1, 2, 9007199254740991)),
  ratio: fc.option(fc.constantFrom(0, 0.1, 0.30000000000000004, 1e-7, -1e300)),
  price: fc.option(fc.constantFrom("0.00", "0.10", "-1.50", "12345678.90")),
  serial: fc.option(
    fc.constantFrom("9007199254740992", "9007199254740993", "-9223372036854775808"),
  ),
  at: fc.option(fc.constantFrom(
    "2024-01-31T12:00:00.000001Z",
    "2024-01-31T12:00:00.000002Z",
    "2024-01-31T12:00:00.000Z",
    "0001-01-01T00:00:00.000Z",
  )),
  done: fc.option(fc.boolean()),
};
const someItems: fc.Arbitrary<Item[]> = fc.array(fc.record(value), { maxLength: 30 })
  .map((rows) => rows.map((row, index) => ({ id: index + 1, ...row })));
const someOrder = fc.uniqueArray(
  fc.record({
    field: fc.constantFrom("name", "code", "amount", "ratio", "price", "serial", "at"),
    direction: fc.constantFrom("asc", "desc"),
  }),
  { maxLength: 3, selector: ({ field }) => field },
);

/** The ids of all pages by cursor. */
async function walk(service: Service, query: string, limit: number): Promise<number[]> {
  const ids: number[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < 100; page++) {
    const tail: string = cursor === null ? "" : `&cursor=${cursor}`;
    const { status, body } = await service.get(`/api/items?${query}&limit=${limit}${tail}`);
    assertEquals(status, 200);
    ids.push(...body.items.map((item: Item) => item.id));
    assert(body.items.length === limit || !body.hasMore, "only the last page is short");
    assertEquals(body.hasMore, body.nextCursor !== null);
    if (!body.hasMore) return ids;
    cursor = body.nextCursor;
  }
  throw new Error("The walk does not end");
}

Deno.test("paging by cursor returns every row once, in one order on every engine", async () => {
  const used = engines.filter((engine) => (engine.ignore ?? null) === null);
  // One after the other: while PGlite starts it holds the event loop, and Postgres would wait too long.
  const opened = await Array.fromAsync(used, async (engine) => {
    const db = await engine.open();
    await db.createTables([items]);
    const app = await createApp({ db, secret: "a secret for the tests only", ...served() });
    const get = async (path: string) => {
      const response = await app.fetch(new Request(`http://test${path}`));
      return { status: response.status, headers: response.headers, body: await response.json() };
    };
    return { db, app, get, name: engine.name };
  });
  try {
    await fc.assert(
      fc.asyncProperty(
        someItems,
        someOrder,
        fc.integer({ min: 1, max: 7 }),
        async (rows, order, limit) => {
          const query = `orderBy=${
            order.map(({ field, direction }) => `${field}:${direction}`).join()
          }`;
          let reference: number[] | null = null;
          for (const { db, get, name } of opened) {
            await db.driver.query({ text: "DELETE FROM items", values: [] });
            await insertRows(db, items, rows);
            const service = { get } as unknown as Service;
            const atOnce = (await get(`/api/items?${query}&limit=100`)).body.items
              .map((item: Item) => item.id);
            assertEquals(await walk(service, query, limit), atOnce, name);
            assertEquals([...atOnce].sort((a, b) => a - b), rows.map(({ id }) => id), name);
            reference ??= atOnce;
            assertEquals(atOnce, reference, `${name} orders like the first engine`);
          }
        },
      ),
      { numRuns: 60 },
    );
  } finally {
    for (const { app, db } of opened) {
      await app.close();
      await db.close();
    }
  }
});

testOnEveryEngine(
  "NULLs are last in both directions, and text is in code-point order",
  (engine) =>
    withService(engine, [items], served, async (service) => {
      const names = [null, "b", "B", "á", "", "\uff5e", "👍"];
      await insertRows(
        service.db,
        items,
        names.map((name, index) => ({ id: index + 1, code: "x", name })),
      );
      const sorted = async (orderBy: string) =>
        (await service.get(`/api/items?orderBy=${orderBy}&select=name`)).body.items
          .map((item: Item) => item.name);
      const ascending = ["", "B", "b", "á", "\uff5e", "👍"];
      assertEquals(await sorted("name"), [...ascending, null]);
      assertEquals(await sorted("-name"), [...ascending.reverse(), null]);
    }),
);

testOnEngines(
  "a cursor belongs to its list and order, and any change of it is a 400",
  (engine) =>
    withService(engine, [items], served, async (service) => {
      await insertRows(
        service.db,
        items,
        Array.from(
          { length: 9 },
          (_, index) => ({ id: index + 1, code: "secret-word", amount: index % 2 }),
        ),
      );
      const first = await service.get("/api/items?orderBy=code,amount:desc&limit=2");
      const cursor: string = first.body.nextCursor;
      assert(!atob(cursor.replaceAll("-", "+").replaceAll("_", "/")).includes("secret-word"));
      const again = (query: string, cursor: string) =>
        service.get(`/api/items?${query}&cursor=${encodeURIComponent(cursor)}`);
      for (const same of ["orderBy=code:asc,-amount", "orderBy=code,-amount,id:asc&limit=3"]) {
        assertEquals((await again(same, cursor)).status, 200);
      }
      for (
        const other of ["orderBy=code", "orderBy=code,amount", "orderBy=-code,-amount", "limit=2"]
      ) {
        const answer = await again(other, cursor);
        assertEquals([answer.status, answer.body.code], [400, "CURSOR_INVALID"]);
      }
      const changes = [
        ...Array.from({ length: 200 }, (_, turn) => flip(cursor, turn % cursor.length, 1 + turn)),
        cursor.slice(1),
        cursor.slice(0, -1),
        cursor + "A",
        cursor + "=",
        cursor.toUpperCase(),
        "x".repeat(10_000),
        "%00",
      ];
      for (const changed of changes.filter((changed) => changed !== cursor)) {
        const answer = await again("orderBy=code,-amount", changed);
        assertEquals([answer.status, answer.body.code], [400, "CURSOR_INVALID"], changed);
      }
      assertEquals((await again("orderBy=code,-amount", "")).status, 200);
    }),
);

testOnEngines(
  "a limit beyond 2^53 is clamped like any other",
  (engine) =>
    withService(engine, [items], served, async ({ db, get }) => {
      const rows = Array.from({ length: 101 }, (_, index) => ({ id: index + 1, code: "x" }));
      await insertRows(db, items, rows);
      for (const limit of ["9007199254740993", "9".repeat(16), "1".repeat(400)]) {
        assertEquals((await get(`/api/items?limit=${limit}`)).body.items?.length, 100);
        const groups = await get(`/api/items/aggregate?groupBy=id&limit=${limit}`);
        assertEquals(groups.body.groups?.length, 101);
      }
      assertEquals((await get(`/api/items?limit=${"0".repeat(400)}`)).status, 400);
    }),
);

testOnEngines(
  "limit, totalCount, select and orderBy accept their documented values",
  (engine) =>
    withService(engine, [items], served, async ({ db, get }) => {
      await insertRows(
        db,
        items,
        Array.from({ length: 130 }, (_, index) => ({ id: index + 1, code: "x" })),
      );
      const page = await get("/api/items");
      assertEquals([page.body.items.length, page.body.hasMore, "totalCount" in page.body], [
        20,
        true,
        false,
      ]);
      assertEquals((await get("/api/items?limit=100000")).body.items.length, 100);
      const counted = await get("/api/items?limit=1&totalCount=true&filter=id%3E30");
      assertEquals(counted.body.totalCount, 100);
      assertEquals((await get("/api/items/count?filter=id%3E30")).body, { count: 100 });
      assertEquals((await get("/api/items?limit=1&select=code")).body.items, [{ code: "x" }]);
      assertEquals((await get("/api/items?limit=1&select=code,constructor")).status, 400);
      assertEquals((await get("/api/items?limit=1&select=")).body.items, [{}]);
      for (
        const bad of [
          "limit=0",
          "limit=-1",
          "limit=abc",
          "limit=1.5",
          "limit=1e3",
          "limit=",
          "totalCount=yes",
          "orderBy=nothing",
          "orderBy=constructor",
          "orderBy=__proto__",
          "orderBy=id:up",
          "orderBy=-id:asc",
          "orderBy=id,id",
          "orderBy=,",
          "orderBy=id,name,code,amount,ratio,price,serial,at,done",
          "limit=1&limit=2",
          "filter=id==1&filter=id==2",
          "filter=id==1&&code==x",
          "filter=code==%FF",
          "cursor=%ZZ",
        ]
      ) {
        const answer = await get(`/api/items?${bad}`);
        assertEquals([bad, answer.status], [bad, 400]);
        assertEquals(answer.headers.get("content-type"), "application/problem+json");
      }
      assertEquals((await get("/api/items?utm_source=x&limit=1")).status, 200);
    }),
);

testUnless(
  null,
  "the order of a page does not depend on a row that was deleted after the previous one",
  async () => {
    const [engine] = engines;
    if (engine === undefined) throw new Error("There is no engine");
    await withService(engine, [items], served, async (service) => {
      await insertRows(service.db, items, [1, 2, 3, 4].map((id) => ({ id, code: "x" })));
      const { body } = await service.get("/api/items?limit=2");
      await service.db.driver.query({ text: "DELETE FROM items WHERE id = 2", values: [] });
      const rest = await service.get(`/api/items?cursor=${body.nextCursor}`);
      assertEquals(rest.body.items.map((item: Item) => item.id), [3, 4]);
    });
  },
);

/** `text` with one character changed to another of the base64url alphabet. */
function flip(text: string, at: number, by: number): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const known = alphabet.indexOf(text.charAt(at));
  const other = alphabet.charAt((known + 1 + by % 62) % 64);
  return text.slice(0, at) + other + text.slice(at + 1);
}

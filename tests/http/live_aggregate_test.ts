import { assertEquals, assertRejects } from "@std/assert";
import {
  all,
  decimal,
  eq,
  integer,
  json,
  resource,
  type ResourceOptions,
  rsql,
  table,
  text,
} from "../../mod.ts";
import type { EventStream } from "../support/event_stream.ts";
import { engines } from "../support/engines.ts";
import {
  insertRows,
  type Service,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";

const sales = table("sales", {
  id: integer().primaryKey(),
  ownerId: text().as("owner_id"),
  shopId: integer().as("shop_id"),
  country: text(),
  price: decimal({ precision: 12, scale: 2 }),
  extra: json(),
  margin: integer(),
  secret: text(),
});
const shops = table("shops", { id: integer().primaryKey(), city: text() });
const readable = [sales.id, sales.ownerId, sales.country, sales.price, sales.extra];
const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

type Options = Partial<ResourceOptions<typeof sales.$inferSelect>>;

function withSales(
  engine: typeof engines[number],
  options: Options,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(engine, [sales, shops], () => ({
    subscribe: { maxPerUser: 2 },
    resources: [
      resource(shops, { id: shops.id, auth: { read: () => all() } }),
      resource(sales, {
        id: sales.id,
        auth: { public: true, create: () => all() },
        fields: { readable },
        relations: {
          shop: {
            type: "belongsTo",
            resource: shops,
            foreignKey: sales.shopId,
            filterable: true,
          },
        },
        ...options,
      }),
    ],
  }), async (service) => {
    await insertRows(service.db, shops, [{ id: 1, city: "Oslo" }, { id: 2, city: "Bergen" }]);
    await work(service);
  });
}

const path = "/api/sales/aggregate/subscribe";

/** The data of the next event. The timers of a service do not keep a process alive. */
async function next(stream: EventStream) {
  const timer = setTimeout(() => {}, 10_000);
  const [event] = await stream.take(1);
  clearTimeout(timer);
  assertEquals(event?.type, "aggregate");
  return event?.data;
}

testOnEveryEngine(
  "a live aggregate begins with its groups, and sends them again when they change",
  (engine) =>
    withSales(engine, {}, async ({ db, send, subscribe }) => {
      await insertRows(db, sales, [
        { id: 1, country: "no", price: "0.10", secret: "xyzzy-1", margin: 1 },
      ]);
      const stream = await subscribe(`${path}?groupBy=country&count=true&sum=price&avg=price`, {
        "last-event-id": "s.0123456789abcdef.7",
      });
      assertEquals(await next(stream), {
        type: "aggregate",
        groups: [{
          key: { country: "no" },
          count: 1,
          sum: { price: "0.10" },
          avg: { price: "0.10000000" },
        }],
        hasMore: false,
      });
      const user = { "x-user": "ada" };
      await send("POST", "/api/sales", { id: 2, country: "no", price: "0.25" }, user);
      assertEquals((await next(stream)).groups, [{
        key: { country: "no" },
        count: 2,
        sum: { price: "0.35" },
        avg: { price: "0.17500000" },
      }]);
      await send("POST", "/api/sales", { id: 3, country: null, price: null }, user);
      assertEquals((await next(stream)).groups[1], {
        key: { country: null },
        count: 1,
        sum: { price: null },
        avg: { price: null },
      });
      await db.driver.query({ text: "DELETE FROM sales WHERE country = 'no'", values: [] });
      assertEquals((await next(stream)).groups.length, 1);
      await stream.close();
    }),
);

Deno.test("a hidden field is 400 in every position, before a stream opens", () =>
  withSales(sqlite, {}, async ({ get }) => {
    const fetchJson = (query: string) => get(`${path}?${query}`);
    const wrong = [
      ...["groupBy", "sum", "avg", "min", "max"].flatMap((place) =>
        ["margin", "secret", "nothing"].map((name) => `${place}=${name}`)
      ),
      ...["filter=margin>1", "filter=secret==x", "having=sum_margin>1", "having=max_secret==x"],
      ...["having=margin==1", "orderBy=margin", "orderBy=-sum_margin", "orderBy=secret"],
      // What cannot be grouped, summed or read.
      ...["groupBy=extra", "sum=country", "limit=0", "having=count", "count=1", "groupBy=id,id"],
      // The grants of related rows would have to be evaluated continuously.
      ...["filter=shop.city==Oslo", "filter=nothing.city==Oslo"],
    ];
    for (const query of wrong) {
      const { status, headers } = await fetchJson(query);
      assertEquals([status, headers.get("content-type")], [400, "application/problem+json"], query);
    }
  }));

Deno.test("a live aggregate needs both capabilities and the right to subscribe", async () => {
  const status = async (options: Options, at = path, method = "GET") => {
    let found = 0;
    await withSales(sqlite, options, async ({ send }) => {
      found = (await send(method, at, undefined, { "x-user": "ada" })).status;
    });
    return found;
  };
  assertEquals(await status({ capabilities: { enableAggregations: false } }), 404);
  assertEquals(await status({ capabilities: { enableSubscribe: false } }), 404);
  assertEquals(await status({ auth: { read: () => all() } }), 403);
  assertEquals(await status({}, path, "POST"), 405);
  assertEquals(await status({}, `${path}/more`), 404);
  assertEquals(await status({}, path, "HEAD"), 200);
});

Deno.test("live aggregates count among the streams of a user", () =>
  withSales(sqlite, {}, async ({ subscribe }) => {
    const ada = { "x-user": "ada" };
    const streams = [await subscribe(path, ada), await subscribe("/api/sales/subscribe", ada)];
    await assertRejects(() => subscribe(path, ada), Error, "429");
    for (const stream of streams) await stream.close();
  }));

testOnEngines(
  "a scope may walk to other rows, whose changes update the numbers",
  (engine) =>
    withSales(engine, {
      auth: { subscribe: () => rsql`shop.city==Oslo` },
    }, async ({ db, subscribe }) => {
      const run = async (text: string) => {
        await db.driver.query({ text, values: [] });
      };
      await insertRows(db, sales, [1, 2, 2].map((shopId, id) => ({ id, shopId })));
      const stream = await subscribe(path, { "x-user": "ada" });
      const counted = async () => (await next(stream)).groups[0].count;
      assertEquals(await counted(), 1);
      await run("UPDATE sales SET shop_id = 1 WHERE id = 1");
      assertEquals(await counted(), 2);
      await run("UPDATE shops SET city = 'Oslo'");
      assertEquals(await counted(), 3);
      await run("DELETE FROM sales WHERE id = 0");
      assertEquals(await counted(), 2);
      await stream.close();
    }),
);

testOnEngines(
  "only rows in the scope of the subscriber are counted",
  (engine) =>
    withSales(engine, {
      auth: { subscribe: (user) => eq(sales.ownerId, user.id), create: () => all() },
    }, async ({ send, subscribe }) => {
      const [ada, bob] = [{ "x-user": "ada" }, { "x-user": "bob" }];
      const streams = [await subscribe(path, ada), await subscribe(path, bob)];
      for (const stream of streams) assertEquals((await next(stream)).groups[0].count, 0);
      await send("POST", "/api/sales", { id: 1, ownerId: "bob" }, ada);
      await send("POST", "/api/sales", { id: 2, ownerId: "ada" }, ada);
      await send("POST", "/api/sales", { id: 3, ownerId: "ada" }, ada);
      for (const [index, count] of [2, 1].entries()) {
        const stream = streams[index];
        if (stream === undefined) throw new Error("unreachable");
        let last = 0;
        while (last !== count) last = (await next(stream)).groups[0].count;
        await stream.close();
      }
    }),
);

import { assertEquals, assertMatch } from "@std/assert";
import {
  all,
  bigint,
  boolean,
  bytes,
  createApp,
  decimal,
  eq,
  integer,
  json,
  real,
  resource,
  type ResourceOptions,
  table,
  text,
  timestamp,
  uuid,
} from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { Engine } from "../support/engines.ts";
import {
  insertRows,
  type Service,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";

const sales = table("sales", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  country: text(),
  paid: boolean(),
  quantity: integer(),
  units: bigint(),
  price: decimal({ precision: 12, scale: 2 }),
  open: decimal(),
  weight: real(),
  soldAt: timestamp().as("sold_at"),
  ref: uuid(),
  extra: json(),
  file: bytes(),
  secret: text(),
  margin: integer(),
  deletedAt: timestamp().as("deleted_at"),
});

const readable = [
  ...[sales.id, sales.ownerId, sales.country, sales.paid, sales.quantity, sales.units, sales.price],
  ...[sales.open, sales.weight, sales.soldAt, sales.ref, sales.extra, sales.file, sales.deletedAt],
];

type Options = Omit<ResourceOptions<typeof sales.$inferSelect>, "id">;

const rows: readonly Record<string, unknown>[] = [
  { country: "se", paid: true, quantity: 2, price: "0.10", weight: 0.5 },
  { country: "se", paid: false, quantity: 5, price: "0.20", weight: 1.5 },
  { country: "no", paid: true, quantity: 1, price: "10.00", weight: null },
  { country: null, paid: null, quantity: null, price: null },
  { country: "Se", paid: true, quantity: -3, price: "-0.30" },
  { country: "no", paid: true, quantity: 100, deletedAt: "2024-01-01T00:00:00.000Z" },
  { ownerId: "bob", country: "no", paid: true, quantity: 7, price: "1.00" },
].map((row, index) => ({
  id: index + 1,
  ownerId: "ada",
  secret: `xyzzy-${index}`,
  margin: 777_000_123 + index,
  ...row,
}));

function withSales(
  engine: Engine,
  work: (service: Service, fetchJson: (query: string) => Promise<Json>) => Promise<void>,
  options: Options = {},
  stored: readonly Record<string, unknown>[] = rows,
): Promise<void> {
  return withService(engine, [sales], () => ({
    resources: [
      resource(sales, {
        id: sales.id,
        auth: { read: (user) => user.id === "root" ? all() : eq(sales.ownerId, user.id) },
        fields: { readable },
        softDelete: { field: sales.deletedAt },
        ...options,
      }),
    ],
  }), async (service) => {
    await insertRows(service.db, sales, stored);
    await work(service, async (query) => {
      const { status, body } = await service.get(`/api/sales/aggregate${query}`, ada);
      return status === 200 ? body : [status, body.code, body.detail];
    });
  });
}

const ada = { "x-user": "ada" };

// deno-lint-ignore no-explicit-any -- a test says what it expects by asserting it
type Json = any;

function filtered(parameter: string, text: string): string {
  return `${parameter}=${encodeURIComponent(text)}`;
}

testOnEngines(
  "without groupBy all rows are one group, without a metric they are counted",
  (engine) =>
    withSales(engine, async (_service, fetchJson) => {
      assertEquals(await fetchJson(""), { groups: [{ key: null, count: 5 }], hasMore: false });
      assertEquals(
        await fetchJson("?sum=quantity,price&avg=quantity,price&min=country&max=country"),
        {
          groups: [{
            key: null,
            sum: { quantity: 5, price: "10.00" },
            avg: { quantity: 1.25, price: "2.50000000" },
            min: { country: "Se" },
            max: { country: "se" },
          }],
          hasMore: false,
        },
      );
      assertEquals(await fetchJson("?groupBy=&sum=&count=false"), {
        groups: [{ key: null, count: 5 }],
        hasMore: false,
      });
    }),
);

testOnEveryEngine(
  "groups are in the order of their keys, NULL last, and texts stay distinct",
  (engine) =>
    withSales(engine, async (_service, fetchJson) => {
      const { groups } = await fetchJson("?groupBy=country,paid&count=true&sum=price");
      assertEquals(groups, [
        { key: { country: "Se", paid: true }, count: 1, sum: { price: "-0.30" } },
        { key: { country: "no", paid: true }, count: 1, sum: { price: "10.00" } },
        { key: { country: "se", paid: false }, count: 1, sum: { price: "0.20" } },
        { key: { country: "se", paid: true }, count: 1, sum: { price: "0.10" } },
        { key: { country: null, paid: null }, count: 1, sum: { price: null } },
      ]);
    }),
);

testOnEngines(
  "no rows: one empty group, or no group with keys",
  (engine) =>
    withSales(engine, async (_service, fetchJson) => {
      const none = filtered("filter", "country==nowhere");
      assertEquals(
        await fetchJson(`?${none}&count=true&sum=quantity&avg=price&min=soldAt&max=weight`),
        {
          groups: [{
            key: null,
            count: 0,
            sum: { quantity: null },
            avg: { price: null },
            min: { soldAt: null },
            max: { weight: null },
          }],
          hasMore: false,
        },
      );
      assertEquals(await fetchJson(`?${none}&groupBy=country`), { groups: [], hasMore: false });
      assertEquals(await fetchJson(`?${filtered("having", "count>9")}`), {
        groups: [],
        hasMore: false,
      });
    }),
);

testOnEngines(
  "scope, soft delete and filter hold as in a list",
  (engine) =>
    withSales(engine, async ({ get }, fetchJson) => {
      for (const filter of ["", "country==no", "quantity>0,paid==false", "price==null"]) {
        const query = filtered("filter", filter);
        const counted = (await get(`/api/sales/count?${query}`, ada)).body.count;
        const listed = (await get(`/api/sales?${query}`, ada)).body.items.length;
        const [group] = (await fetchJson(`?${query}`)).groups;
        const groups: Json[] = (await fetchJson(`?${query}&groupBy=country,paid`)).groups;
        const summed = groups.reduce((sum, { count }) => sum + count, 0);
        assertEquals([counted, listed, summed], [group.count, group.count, group.count]);
      }
      assertEquals(await fetchJson("?withDeleted=true"), await fetchJson(""));
      const root = await get("/api/sales/aggregate", { "x-user": "root" });
      assertEquals(root.body.groups, [{ key: null, count: 6 }]);
      assertEquals((await get("/api/sales/aggregate")).status, 401);
    }),
);

testOnEngines(
  "having takes metrics and keys, requested or not, and nothing else",
  (engine) =>
    withSales(engine, async (_service, fetchJson) => {
      const countries = async (having: string) =>
        (await fetchJson(`?groupBy=country&${filtered("having", having)}`)).groups
          .map(({ key }: Json) => key.country);
      assertEquals(await countries("count>1"), ["se"]);
      assertEquals(await countries("sum_price==0.3"), ["se"]);
      assertEquals(await countries("sum_price=in=(-0.30,10)"), ["Se", "no"]);
      assertEquals(await countries("sum_price=between=(0,1);avg_quantity==3.5"), ["se"]);
      assertEquals(await countries("min_quantity<2 and country!=null"), ["Se", "no"]);
      assertEquals(await countries("sum_quantity==null"), [null]);
      assertEquals(await countries("country=startswith=s,max_paid==null"), ["se", null]);
      assertEquals(await countries("min_paid==false"), ["se"]);
      assertEquals(await countries("avg_price==0.15"), ["se"]);
      assertEquals(await countries("sum_quantity>-9223372036854775808000"), ["Se", "no", "se"]);
      assertEquals(await countries(" "), ["Se", "no", "se", null]);
      const [status, code, detail] = await fetchJson(
        `?${filtered("having", "count>1;country==se")}`,
      );
      assertEquals([status, code], [400, "FILTER_PARSE_ERROR"]);
      assertMatch(detail, /"country" at 8: there is no field/);
    }),
);

testOnEngines(
  "orderBy takes metrics and keys, and ends in the keys",
  (engine) =>
    withSales(engine, async (_service, fetchJson) => {
      const countries = async (orderBy: string) =>
        (await fetchJson(`?groupBy=country&orderBy=${orderBy}`)).groups
          .map(({ key }: Json) => key.country);
      assertEquals(await countries("count:desc"), ["se", "Se", "no", null]);
      assertEquals(await countries("-country"), ["se", "no", "Se", null]);
      assertEquals(await countries("sum_price"), ["Se", "se", "no", null]);
      assertEquals(await countries("-sum_price"), ["no", "se", "Se", null]);
      assertEquals(await countries("count,-avg_price"), ["no", "Se", null, "se"]);
      assertEquals((await fetchJson("?groupBy=country&orderBy=paid"))[0], 400);
    }),
);

testOnEngines("limit cuts the groups, and hasMore says so", (engine) =>
  withSales(
    engine,
    async (_service, fetchJson) => {
      const all = await fetchJson("?groupBy=id&limit=5000");
      assertEquals([all.groups.length, all.hasMore], [1000, true]);
      const few = await fetchJson("?groupBy=id&limit=2");
      assertEquals([few.groups.map(({ key }: Json) => key.id), few.hasMore], [[1, 2], true]);
      assertEquals(
        (await fetchJson(`?groupBy=id&${filtered("filter", "id<=3")}&limit=3`)).hasMore,
        false,
      );
      assertEquals((await fetchJson("?limit=0"))[0], 400);
    },
    {},
    Array.from({ length: 1001 }, (_, index) => ({ id: index + 1, ownerId: "ada" })),
  ));

testOnEngines(
  "hidden and unknown fields are the same 400 in every position",
  (engine) =>
    withSales(engine, async (_service, fetchJson) => {
      const words = async (query: (name: string) => string) => {
        const answers: string[] = [];
        for (const name of ["margin", "nobody", "secret"]) {
          const [status, code, detail] = await fetchJson(query(name));
          assertEquals(status, 400, query(name));
          answers.push(`${code} ${detail.replaceAll(name, "NAME")}`);
        }
        assertEquals(new Set(answers).size, 1, answers.join("\n"));
      };
      for (const parameter of ["groupBy", "sum", "avg", "min", "max"]) {
        await words((name) => `?${parameter}=${name}`);
        await words((name) => `?${parameter}=country,${name}`);
      }
      for (const name of ["sum", "avg", "min", "max"]) {
        await words((field) => `?orderBy=${name}_${field}`);
        await words((field) => `?${filtered("having", `${name}_${field}==1`)}`);
      }
      await words((name) => `?orderBy=${name}`);
      await words((name) => `?groupBy=country&${filtered("having", `${name}==1`)}`);
      await words((name) => `?${filtered("filter", `${name}==1`)}`);
    }),
);

testOnEngines(
  "fields that cannot be summed or compared, and malformed parameters, are 400",
  (engine) =>
    withSales(engine, async (_service, fetchJson) => {
      const faults = [
        ...["sum=country", "avg=soldAt", "sum=paid", "min=extra", "max=file", "groupBy=extra"],
        ...["groupBy=file", "sum=quantity,quantity", "groupBy=country,,paid", "count=yes"],
        ...["groupBy=country&groupBy=paid", "sum_quantity=1&sum==", "orderBy=count,count"],
        ...[filtered("having", "count>x"), filtered("having", "sum_price>0.001")],
        ...[filtered("having", "count"), filtered("having", "country==se")],
      ];
      for (const fault of faults) {
        assertEquals([fault, (await fetchJson(`?${fault}`))[0]], [fault, 400]);
      }
    }),
);

testOnEngines(
  "a disabled aggregate is 404, and other methods are 405",
  async (engine) => {
    await withSales(engine, async ({ get }, fetchJson) => {
      assertEquals((await fetchJson(""))[0], 404);
      assertEquals((await get("/api/sales/aggregate/subscribe", ada)).status, 404);
    }, { capabilities: { enableAggregations: false } });
    await withSales(engine, async ({ get, send }) => {
      const refused = await send("POST", "/api/sales/aggregate", {}, ada);
      assertEquals([refused.status, refused.headers.get("allow")], [405, "GET, HEAD"]);
      assertEquals((await send("HEAD", "/api/sales/aggregate", undefined, ada)).status, 200);
      const unasked = await get("/api/sales/aggregate/subscribe", ada);
      assertEquals(unasked.status, 403, "the right to subscribe is one of its own");
    });
  },
);

const most = 2n ** 63n - 1n;

testOnEngines("sums beyond 2^53 and beyond 64 bits keep every digit", (engine) =>
  withSales(
    engine,
    async ({ get }, fetchJson) => {
      const raw = async (query: string) => {
        const answer = await get(`/api/sales/aggregate${query}`, ada);
        return answer.body;
      };
      const { groups } = await raw("?groupBy=country&sum=units&avg=units&min=units&max=units");
      assertEquals(groups.map(({ sum }: Json) => sum.units), [
        String(most * 3n),
        String(-(most + 1n) * 2n - 1n),
        "9007199254740993",
      ]);
      assertEquals(groups[1].avg.units, Number(-(most + 1n) * 2n - 1n) / 3);
      assertEquals(groups[0].max.units, String(most));
      const byUnits = await fetchJson("?groupBy=country&orderBy=-sum_units");
      assertEquals(byUnits.groups.map(({ key }: Json) => key.country), ["a", "c", "b"]);
      const equal = filtered("having", `sum_units==${most * 3n}`);
      assertEquals((await fetchJson(`?groupBy=country&${equal}`)).groups.length, 1);
      const near = filtered("having", `sum_units==${most * 3n + 1n}`);
      assertEquals((await fetchJson(`?groupBy=country&${near}`)).groups.length, 0);
    },
    {},
    [
      ...[most, most, most].map((units) => ({ country: "a", units: String(units) })),
      ...[-most - 1n, -most - 1n, -1n].map((units) => ({ country: "b", units: String(units) })),
      ...[2n ** 53n, 1n].map((units) => ({ country: "c", units: String(units) })),
    ].map((row, id) => ({ id, ownerId: "ada", ...row })),
  ));

testOnEngines(
  "an integer sum is a JSON number with all its digits",
  (engine) =>
    withService(engine, [sales], () => ({
      resources: [resource(sales, { id: sales.id, auth: { public: true } })],
    }), async ({ db }) => {
      await insertRows(db, sales, [1, 2].map((id) => ({ id, ownerId: "ada", quantity: most })));
      const app = await createApp({
        db,
        secret: "a secret for the tests only",
        runtime: systemRuntime(() => {}),
        resources: [resource(sales, { id: sales.id, auth: { public: { read: true } } })],
      });
      const answer = await app.fetch(new Request("http://test/api/sales/aggregate?sum=quantity"));
      assertEquals(
        await answer.text(),
        '{"groups":[{"key":null,"sum":{"quantity":18446744073709551614}}],"hasMore":false}',
      );
    }),
);

testOnEngines("keys and extremes have the wire form of their column", (engine) =>
  withSales(
    engine,
    async (_service, fetchJson) => {
      const columns = "paid,soldAt,ref,open,units,weight";
      const expected = {
        paid: [false, true],
        soldAt: ["2024-01-01T00:00:00.000Z", "2024-01-01T00:00:00.000001Z"],
        ref: ["00000000-0000-0000-0000-0000000000ff", "f0000000-0000-0000-0000-000000000000"],
        open: ["1.5", "10"],
        units: ["9", "10"],
        weight: [-0.5, 2],
      };
      const { groups: [whole] } = await fetchJson(`?min=${columns}&max=${columns}`);
      for (const [name, [least, greatest]] of Object.entries(expected)) {
        assertEquals([whole.min[name], whole.max[name]], [least, greatest]);
        const { groups } = await fetchJson(`?groupBy=${name}`);
        assertEquals(groups.map(({ key }: Json) => key[name]), [least, greatest]);
        const having = filtered("having", `min_${name}=="${least}"`);
        assertEquals((await fetchJson(`?groupBy=${name}&${having}`)).groups.length, 1, name);
      }
    },
    {},
    [
      {
        paid: true,
        soldAt: "2024-01-01T00:00:00.000001Z",
        ref: "f0000000-0000-0000-0000-000000000000",
        open: "10.0",
        units: "10",
        weight: 2,
      },
      {
        paid: false,
        soldAt: "2024-01-01T00:00:00.000Z",
        ref: "00000000-0000-0000-0000-0000000000ff",
        open: "1.50",
        units: "9",
        weight: -0.5,
      },
    ].map((row, id) => ({ id, ownerId: "ada", ...row })),
  ));

const odd = table("odd", {
  id: integer().primaryKey(),
  count: text(),
  sum_size: text(),
  size: integer(),
});

testOnEngines(
  "a column named like a metric can be a key, and its name means the metric",
  (engine) =>
    withService(engine, [odd], () => ({
      resources: [resource(odd, { id: odd.id, auth: { public: true } })],
    }), async ({ db, get }) => {
      await insertRows(db, odd, [
        { id: 1, count: "z", sum_size: "y", size: 1 },
        { id: 2, count: "a", sum_size: "y", size: 2 },
        { id: 3, count: "z", sum_size: "y", size: 3 },
      ]);
      const query = "?groupBy=count,sum_size&count=true&sum=size&min=sum_size&orderBy=-count";
      const { body } = await get(`/api/odd/aggregate${query}&${filtered("having", "sum_size>1")}`);
      assertEquals(body.groups, [
        { key: { count: "z", sum_size: "y" }, count: 2, sum: { size: 4 }, min: { sum_size: "y" } },
        { key: { count: "a", sum_size: "y" }, count: 1, sum: { size: 2 }, min: { sum_size: "y" } },
      ]);
    }),
);

import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  all,
  bigint,
  boolean,
  bytes,
  date,
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
} from "../../mod.ts";
import {
  type Answer,
  insertRows,
  type Service,
  testOnEngines,
  testOnEveryEngine,
  withService,
} from "../support/http.ts";
import type { Engine } from "../support/engines.ts";
import { run } from "../support/scratch.ts";
import { asCsv, asNdjson, parseCsv, parseNdjson } from "./export_support.ts";

const items = table("items", {
  id: integer().primaryKey(),
  name: text(),
  amount: integer(),
  ratio: real(),
  price: decimal({ precision: 10, scale: 2 }),
  serial: bigint(),
  done: boolean(),
  at: timestamp(),
  day: date(),
  data: json(),
  raw: bytes(),
  ownerId: text().as("owner_id"),
  secret: text(),
  deletedAt: timestamp().as("deleted_at"),
});
type Item = typeof items.$inferSelect;

const shown = [
  ...["id", "name", "amount", "ratio", "price", "serial", "done", "at", "day", "data", "raw"],
  "ownerId",
];

function withItems(
  engine: Engine,
  options: Partial<ResourceOptions<Item>>,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(engine, [items], () => ({
    resources: [
      resource(items, {
        id: items.id,
        auth: { public: { read: true } },
        capabilities: { enableExport: true },
        // The column of the mark is hidden as well, and absent from the header.
        fields: { readable: shown as (keyof Item & string)[] },
        ...options,
      }),
    ],
  }), work);
}

const fixed: readonly Record<string, unknown>[] = [
  {
    id: 1,
    name: 'quote " comma , and\r\nlines\nof\rit',
    amount: 9007199254740991,
    ratio: 0.30000000000000004,
    price: "12345678.90",
    serial: "9223372036854775807",
    done: true,
    at: "2024-01-31T12:00:00.000001Z",
    day: "2024-02-29",
    data: { a: [1, "x, y", null], big: 9007199254740993n },
    raw: "/+8=",
    ownerId: "ada",
    secret: "xyzzy-1",
  },
  { id: 2, name: "", done: false, data: "text", ownerId: "bob", secret: "xyzzy-2" },
  { id: 3, name: null, data: [], ratio: -1e-7, ownerId: "ada", secret: "xyzzy-3" },
  {
    id: 4,
    name: " a tab\t and a snow☃man 👍 ",
    ownerId: "=1+1",
    deletedAt: "2024-01-31T12:00:00Z",
  },
];

testOnEngines(
  "a CSV follows RFC 4180 byte for byte, and null differs from the empty text",
  (engine) =>
    withItems(engine, { softDelete: { field: items.deletedAt } }, async ({ db, get }) => {
      await insertRows(db, items, fixed);
      const { status, headers, body } = await get("/api/items?withDeleted=true", asCsv);
      assertEquals(status, 200);
      assertEquals(headers.get("content-type"), "text/csv; charset=utf-8; header=present");
      assertEquals(headers.get("content-disposition"), 'attachment; filename="items.csv"');
      assertEquals(headers.get("cache-control"), "private, no-cache");
      assertEquals(headers.get("vary"), "Accept");
      assertEquals(
        body,
        `${shown.join(",")}\r\n` +
          '1,"quote "" comma , and\r\nlines\nof\rit",9007199254740991,0.30000000000000004,' +
          "12345678.90,9223372036854775807,true,2024-01-31T12:00:00.000001Z,2024-02-29," +
          `${jsonOf(body)},/+8=,ada\r\n` +
          '2,"",,,,,false,,,"""text""",,bob\r\n' +
          "3,,,-1e-7,,,,,,[],,ada\r\n" +
          '4," a tab\t and a snow☃man 👍 ",,,,,,,,,,=1+1\r\n',
      );
      assert(body.includes("9007199254740993"), "an integer of JSON keeps its digits");
    }),
);

/** The engines store the members of an object in different orders. */
function jsonOf(body: string): string {
  const [, found = ""] = /,("\{.*?\}"),/.exec(body) ?? [];
  assertEquals(
    JSON.parse(found.slice(1, -1).replaceAll('""', '"')),
    { a: [1, "x, y", null], big: Number("9007199254740993") },
  );
  return found;
}

const someText = fc.string({
  unit: fc.constantFrom(",", '"', "\r", "\n", " ", "\t", "a", ";", "é", "👍", "\u00a0", "\\", "="),
  maxLength: 6,
});
const someItem = fc.record({
  name: fc.option(someText),
  ownerId: fc.option(someText),
  amount: fc.option(fc.integer()),
  ratio: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e30, max: 1e30 })),
  serial: fc.option(fc.constantFrom("9007199254740993", "-9223372036854775808")),
  done: fc.option(fc.boolean()),
  data: fc.option(fc.oneof(someText, fc.integer(), fc.array(someText), fc.boolean())),
});

testOnEngines(
  "another parser reads the values of the list from CSV and NDJSON, whatever they are",
  (engine) =>
    withItems(engine, {}, async (service) => {
      const { db, get } = service;
      await fc.assert(
        fc.asyncProperty(fc.array(someItem, { maxLength: 8 }), async (rows) => {
          await run(db, "DELETE FROM items");
          await insertRows(db, items, rows.map((row, index) => ({ id: index + 1, ...row })));
          const list = (await get("/api/items?limit=100")).body.items;
          assertEquals(parseNdjson((await get("/api/items", asNdjson)).body), list);
          assertEquals(
            parseCsv((await get("/api/items", asCsv)).body),
            [shown, ...list.map((item: Item) => shown.map((name) => csvField(item, name)))],
          );
        }),
        { numRuns: 40 },
      );
    }),
);

/** The expected field of the CSV, from the row in JSON. */
function csvField(item: Record<string, unknown>, name: string): string | null {
  const value = item[name] ?? null;
  if (value === null) return null;
  return typeof value === "string" && name !== "data" ? value : JSON.stringify(value);
}

testOnEveryEngine(
  "filter, order, select, scope and soft delete are those of the list",
  (engine) =>
    withItems(engine, {
      auth: { read: (user) => user.id === "root" ? all() : eq(items.ownerId, user.id) },
      softDelete: { field: items.deletedAt },
    }, async ({ db, get }) => {
      await insertRows(db, items, fixed);
      await insertRows(db, items, [
        { id: 5, name: "gone", ownerId: "ada", deletedAt: "2024-01-31T12:00:00Z" },
      ]);
      const ada = { "x-user": "ada" };
      const root = { "x-user": "root" };
      for (
        const [query, headers] of [
          ["", ada],
          ["", root],
          ["withDeleted=true", ada],
          ["withDeleted=true", root],
          ["filter=id%3E1", ada],
          ["filter=ownerId==bob", ada],
          ["filter=id%3E=1&orderBy=-id&select=name,id", root],
          ["orderBy=name:desc&select=id", root],
        ] as const
      ) {
        const list = (await get(`/api/items?${query}`, headers)).body.items;
        const lines = await get(`/api/items?${query}`, { ...headers, ...asNdjson });
        assertEquals(parseNdjson(lines.body), list, query);
        assertEquals(lines.headers.get("content-type"), "application/x-ndjson");
        const csv = await get(`/api/items?${query}`, { ...headers, ...asCsv });
        const [head = [], ...records] = parseCsv(csv.body);
        const ids = records.map((record) => Number(record[head.indexOf("id")]));
        assertEquals(ids, list.map((item: Item) => item.id), query);
      }
      const narrow = await get("/api/items?select=id,name&filter=id==2", { ...root, ...asCsv });
      assertEquals(narrow.body, 'id,name\r\n2,""\r\n');
      assertEquals((await get("/api/items", asCsv)).status, 401);
    }),
);

testOnEngines(
  "computed fields follow the columns, see the whole row, and are null where they fail",
  (engine) =>
    withItems(engine, {
      computed: {
        length: (row) => row.secret?.length,
        "a, b": (row) => [row.id, "x"],
        moment: () => new Date(0),
        broken: (row) => {
          if (row.id === 2) throw new Error("broken");
          return true;
        },
        odd: () => () => 1,
        endless: () => Infinity,
      },
      fields: { readable: [items.id] },
    }, async ({ db, get, observations }) => {
      await insertRows(db, items, fixed.slice(0, 3));
      const { body } = await get("/api/items", asCsv);
      assertEquals(
        body,
        'id,length,"a, b",moment,broken,odd,endless\r\n' +
          '1,7,"[1,""x""]",1970-01-01T00:00:00.000Z,true,,\r\n' +
          '2,7,"[2,""x""]",1970-01-01T00:00:00.000Z,,,\r\n' +
          '3,7,"[3,""x""]",1970-01-01T00:00:00.000Z,true,,\r\n',
      );
      assertEquals(observations.map(({ kind }) => kind), ["computed_failed"]);
    }),
);

testOnEngines(
  "limit is the most rows of all pages together, whatever the page sizes",
  (engine) =>
    withItems(engine, {}, async ({ db, get }) => {
      await insertRows(db, items, Array.from({ length: 400 }, (_, index) => ({ id: index + 1 })));
      for (const limit of [1, 63, 64, 65, 319, 320, 321, 399, 400, 401, 1e12, 2 ** 53 + 2]) {
        const { body } = await get(`/api/items?select=id&limit=${limit}`, asNdjson);
        const expected = Math.min(limit, 400);
        const ids = parseNdjson(body);
        assertEquals([ids.length, ids.at(-1)], [expected, { id: expected }]);
      }
      for (const limit of ["0", "-1", "1.5", "x", ""]) {
        const { status, body } = await get(`/api/items?limit=${limit}`, asCsv);
        assertEquals([status, body.code], [400, "INVALID_PARAMETER"], limit);
      }
    }),
);

testOnEngines(
  "an export begins after a cursor of the list, and refuses include",
  (engine) =>
    withItems(engine, {}, async ({ db, get }) => {
      await insertRows(db, items, fixed);
      const { nextCursor } = (await get("/api/items?orderBy=-id&limit=3")).body;
      const rest = await get(`/api/items?orderBy=-id&select=id&cursor=${nextCursor}`, asCsv);
      assertEquals(rest.body, "id\r\n1\r\n");
      const wrong = await get(`/api/items?orderBy=id&cursor=${nextCursor}`, asCsv);
      assertEquals([wrong.status, wrong.body.code], [400, "CURSOR_INVALID"]);
      for (const format of [asCsv, asNdjson]) {
        const including = await get("/api/items?include=owner", format);
        assertEquals([including.status, including.body.code], [400, "INVALID_PARAMETER"]);
      }
      const withCount = await get("/api/items?totalCount=true&select=id&filter=id==1", asCsv);
      assertEquals(withCount.body, "id\r\n1\r\n");
    }),
);

testOnEngines(
  "an empty export is a header, or nothing",
  (engine) =>
    withItems(engine, {}, async ({ get }) => {
      assertEquals((await get("/api/items", asCsv)).body, `${shown.join(",")}\r\n`);
      const lines = await get("/api/items", asNdjson);
      assertEquals([lines.status, lines.body], [200, ""]);
    }),
);

testOnEngines(
  "HEAD has the headers of the export, and no body",
  (engine) =>
    withItems(engine, {}, async ({ db, get, send }) => {
      await insertRows(db, items, fixed);
      const head = await send("HEAD", "/api/items", undefined, asCsv);
      assertEquals([head.status, head.body], [200, ""]);
      assertEquals([...head.headers], [...(await get("/api/items", asCsv)).headers]);
      assertEquals((await send("HEAD", "/api/items?limit=0", undefined, asCsv)).status, 400);
    }),
);

testOnEngines(
  "a list is JSON where exports are off, and for other media types",
  async (engine) => {
    const type = ({ status, headers }: Answer) => [
      status,
      headers.get("content-type"),
      headers.get("vary"),
    ];
    await withItems(engine, { capabilities: {} }, async ({ get }) => {
      const off = await get("/api/items", asCsv);
      assertEquals(type(off), [200, "application/json", "Accept"]);
      assertEquals(off.body, { items: [], nextCursor: null, hasMore: false });
    });
    await withItems(engine, {}, async ({ get }) => {
      for (
        const accept of ["text/html,*/*;q=0.8", "image/png", "text/csv;q=0.5, application/json"]
      ) {
        assertEquals(type(await get("/api/items", { accept })), [
          200,
          "application/json",
          "Accept",
        ]);
      }
      assertEquals(type(await get("/api/items/count", asCsv)), [200, "application/json", "Accept"]);
      assertEquals(type(await get("/api/items/1", asCsv)), [404, "application/problem+json", null]);
    });
  },
);

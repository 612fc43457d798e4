import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createApp } from "../../src/app/app.ts";
import { decideCliRights } from "../../src/cli/cli_service.ts";
import { formatSchemaName, readSchemaNames } from "../../src/cli/database/additions.ts";
import { serveDatabase } from "../../src/cli/database/serve_database.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { writeApiTypes } from "../../src/openapi/api_types.ts";
import type { Observation } from "../../src/runtime/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { openEventStream } from "../support/event_stream.ts";
import { runScript } from "../support/scratch.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";

/** The names of search tables made of it would be the same, cut as Postgres cuts names. */
const long = "long".repeat(15);

/** Two tables of one name, keys across schemas, and names that no list may take apart. */
const script = `
CREATE SCHEMA sales;
CREATE SCHEMA "Odd. ""x"", y";
CREATE SCHEMA closed;
CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers, note text);
CREATE TABLE "sales.lines" (id int PRIMARY KEY);
CREATE TABLE public.pg_class (id int PRIMARY KEY, note text);
CREATE TABLE sales.orders (
  id int PRIMARY KEY, customer_id int REFERENCES customers, title text, parent_id int REFERENCES sales.orders
);
CREATE TABLE sales.lines (id int PRIMARY KEY, order_id int REFERENCES sales.orders ON DELETE CASCADE);
CREATE TABLE "Odd. ""x"", y"."Line. ""A"";" (id int PRIMARY KEY, order_id int REFERENCES sales.orders, note text);
CREATE TABLE sales.${long}_a (id int PRIMARY KEY, title text);
CREATE TABLE sales.${long}_b (id int PRIMARY KEY, title text, note text);
CREATE TABLE closed.secrets (id int PRIMARY KEY);
INSERT INTO customers VALUES (1, 'Ann');
INSERT INTO orders VALUES (1, 1, 'public');
INSERT INTO public.pg_class VALUES (1, 'mine');
INSERT INTO sales.orders VALUES (1, 1, 'sales', NULL), (2, 1, 'second', 1);
INSERT INTO sales.lines VALUES (1, 1);
INSERT INTO "Odd. ""x"", y"."Line. ""A"";" VALUES (1, 2, 'odd');
`;

async function serve(
  place: string,
  schemas: readonly string[] | null,
  options: { write?: boolean; search?: boolean } = {},
) {
  const observed: Observation[] = [];
  const runtime = systemRuntime((observation) => {
    observed.push(observation);
    if ("error" in observation) console.log(observation);
  });
  const writable = options.write === true;
  const rights = decideCliRights({ host: "127.0.0.1", public: false, writable }, "t_token");
  const { config } = await serveDatabase(place, {
    ...{ rights, runtime, schemas, kv: undefined, accountsIn: undefined },
    isSearched: options.search === true,
    recording: writable ? { triggers: true, schema: null } : null,
  });
  const app = await createApp({
    ...config,
    secret: "a secret for the tests only",
    adminUI: { readOnly: true, authorize: () => true },
  });
  const headers = { authorization: "Bearer t_token" };
  const get = async (path: string) => {
    const answer = await app.fetch(new Request(`http://localhost${path}`, { headers }));
    const text = await answer.text();
    assertEquals(answer.status, 200, `${path}: ${text}`);
    return JSON.parse(text);
  };
  const send = async (method: string, path: string, body?: unknown) => {
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: { ...headers, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = await app.fetch(request);
    return { status: answer.status, text: await answer.text() };
  };
  const subscribe = (path: string) =>
    openEventStream(
      (signal) => app.fetch(new Request(`http://localhost${path}`, { headers, signal })),
      () => {},
    );
  return { app, get, send, subscribe, observed };
}

const oddName = `Odd. "x", y`;
const odd = `"Odd. ""x"", y"."Line. ""A"";"`;

async function checkServed(place: string): Promise<void> {
  const service = await serve(place, ["public", "sales", oddName], { write: true, search: true });
  const { app, get, send, subscribe, observed } = service;
  try {
    const schema = app.schema();
    const relations = schema.resources.map(({ name, relations }) => [
      name,
      ...relations.map((one) => `${one.name} → ${one.resource}`),
    ]);
    assertEquals(relations, [
      ["customers", "orders → orders", "sales_orders → sales.orders"],
      ["orders", "customer → customers"],
      ["pg_class"],
      ['"sales.lines"'],
      ["sales.lines", "order → sales.orders"],
      [`sales.${long}_a`],
      [`sales.${long}_b`],
      [
        "sales.orders",
        ...["customer → customers", "parent → sales.orders", "lines → sales.lines"],
        ...["orders_by_parent → sales.orders", `Odd_ "x"_ y_Line_ "A"_ → ${odd}`],
      ],
      [odd, "order → sales.orders"],
    ]);
    assertEquals(
      observed.flatMap((one) => one.kind === "schema_left_out" ? [one.schema, one.reason] : []),
      ["closed", "one table or view; --schema closed serves it"],
    );
    assertEquals((await get("/api/orders/1")).note, "public");
    assertEquals((await get("/api/pg_class/1")).note, "mine");
    const order = await get("/api/sales.orders/1?include=customer,lines,parent");
    assertEquals(order, {
      ...{ id: 1, customer_id: 1, title: "sales", parent_id: null },
      ...{ customer: { id: 1, name: "Ann" }, lines: [{ id: 1, order_id: 1 }], parent: null },
    });
    const filter = encodeURIComponent("sales_orders.title==second");
    assertEquals((await get(`/api/customers?filter=${filter}`)).items.length, 1);
    const oddPath = `/api/${encodeURIComponent(odd)}`;
    assertEquals((await get(`${oddPath}/1?include=order`)).order.title, "second");
    assertEquals((await get("/api/sales.orders/aggregate?sum=id")).groups[0].sum, { id: 3 });
    assertEquals((await get("/api/sales.orders/count")).count, 2);
    assertEquals((await get("/api/sales.orders/search?q=second")).items.length, 1);
    for (const [end, text] of [["a", "first"], ["b", "other"]]) {
      const created = await send("POST", `/api/sales.${long}_${end}`, { id: 1, title: text });
      assertEquals(created.status, 201, created.text);
    }
    for (const [end, text] of [["a", "first"], ["b", "other"]]) {
      const { items } = await get(`/api/sales.${long}_${end}/search?q=${text}`);
      assertEquals(items.map((item: { title: string }) => item.title), [text]);
    }
    assertEquals((await get("/__service/ui/api/sales.orders/1")).title, "sales");
    const document = await get("/__service/openapi.json");
    assert("/api/sales.orders/{id}" in document.paths);
    assertEquals(
      ["Orders", "SalesOrders"].map((name) => name in document.components.schemas),
      [true, true],
    );
    assertStringIncludes(writeApiTypes(schema), '"sales.orders": {');

    const streams = await Promise.all(
      ["sales.orders", encodeURIComponent(odd)].map((one) => subscribe(`/api/${one}/subscribe`)),
    );
    for (const stream of streams) await stream.untilSynced();
    const created = { id: 7, customer_id: 1, title: "tea" };
    assertEquals((await send("POST", "/api/sales.orders", created)).status, 201);
    assertEquals((await send("PATCH", `${oddPath}/1`, { note: "new" })).status, 200);
    for (const [index, stream] of streams.entries()) {
      let event = await stream.next();
      while (event?.type === "") event = await stream.next();
      const { id, title, note } = event?.data.item ?? event?.data ?? {};
      assertEquals([id, title ?? note], index === 0 ? [7, "tea"] : [1, "new"]);
      await stream.close();
    }
    const orphan = await send("POST", "/api/sales.orders", { id: 8, customer_id: 99 });
    assertEquals(orphan.status, 409);
    assertStringIncludes(orphan.text, "customer_id");
    assertEquals((await send("DELETE", "/api/sales.orders/7")).status, 204);
  } finally {
    await app.close();
  }
}

testOnPostgres(
  "tables of several schemas are served, with relations, writes and streams",
  async (url) => {
    const db = await openDatabase(url);
    try {
      await runScript(db.driver, script);
      await checkServed(url);
      const every = await db.introspect({ schemas: ["*"] });
      const closed = await db.introspect({ schemas: ["sales"] });
      assertEquals(every.tables.map(({ label }) => label), [
        ...["customers", "orders", "pg_class", '"sales.lines"', odd],
        ...["closed.secrets", "sales.lines", `sales.${long}_a`, `sales.${long}_b`, "sales.orders"],
      ]);
      assertEquals(closed.tables.map(({ label, foreignKeys }) => [label, foreignKeys.length]), [
        ["lines", 1],
        [`${long}_a`, 0],
        [`${long}_b`, 0],
        ["orders", 1],
      ]);
    } finally {
      await db.close();
    }
  },
);

testOnPostgres(
  "a schema that is not there, is closed or is empty ends the start with a sentence",
  async (url) => {
    const db = await openDatabase(url);
    try {
      await runScript(db.driver, script);
      const of = (schemas: readonly string[] | null, search = "") => serve(url + search, schemas);
      const cases: readonly (readonly [readonly string[], string])[] = [
        [["slaes"], 'the schema "slaes": there is none of this name, did you mean "sales"?'],
        [["public", "SALES"], 'did you mean "sales"?'],
        [[`a'; DROP "x`], `the schema "a'; DROP \\"x": there is none of this name`],
        [["pg_catalog"], "it is the server's own"],
        [["information_schema"], "it is the server's own"],
      ];
      for (const [schemas, message] of cases) {
        const error = await assertRejects(() => of(schemas), Error);
        assertStringIncludes(error.message, message);
      }
      await runScript(
        db.driver,
        "GRANT USAGE ON SCHEMA sales TO pg_monitor;\nREVOKE ALL ON SCHEMA public FROM PUBLIC, pg_monitor;\nGRANT SELECT ON sales.lines TO pg_monitor;",
      );
      const role = "?options=-c%20role%3Dpg_monitor";
      const closed = await assertRejects(() => of(["closed"], role), Error);
      assertStringIncludes(closed.message, 'the schema "closed": this user may not use it');
      const none = await assertRejects(() => of(null, role), Error);
      assertStringIncludes(
        none.message,
        "no table that can be read in the first schema of its search path; --schema sales serves one table or view",
      );
      const { app, observed } = await of(["*"], role);
      assertEquals(app.schema().resources.map(({ name }) => name), ["sales.lines"]);
      const reasons = observed.flatMap((one) =>
        one.kind === "schema_left_out" ? [`${one.schema}: ${one.reason}`] : []
      );
      assertEquals(reasons.at(-1), "public: 4 tables and views, and this user may not use it");
      await app.close();
    } finally {
      await db.close();
    }
  },
);

Deno.test("the names of --schema are read as they are written", () => {
  const cases: readonly (readonly [string, readonly string[] | null])[] = [
    ["a,b", ["a", "b"]],
    [" a , B c ", ["a", "B c"]],
    ['"a,b","c""d"', ["a,b", 'c"d']],
    ["*", ["*"]],
    ["", null],
    ["a,,b", null],
    ["a,", null],
    ['a"b', null],
    ['"a', null],
    ['""', null],
  ];
  for (const [text, names] of cases) assertEquals(readSchemaNames(text), names, text);
  for (const name of ["a", "a b", 'a"b', "a,b", " a", "é.ü"]) {
    assertEquals(readSchemaNames(formatSchemaName(name)), [name]);
  }
});

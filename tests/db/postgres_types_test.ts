import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import {
  all,
  type App,
  createApp,
  type Database,
  resource,
  type ResourceDefinition,
  type ResourceOptions,
} from "../../mod.ts";
import { writeApiTypes } from "../../src/openapi/api_types.ts";
import type { ServiceSchema } from "../../src/openapi/service_schema.ts";
import type { TableInfo } from "../../src/schema/table_info.ts";
import type { SqlValue } from "../../src/sql/fragment.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { quoteIdentifier as quoted } from "../../src/sql/fragment.ts";
import { engines } from "../support/engines.ts";
import { openEventStream } from "../support/event_stream.ts";
import { testUnless } from "../support/skip.ts";
import { type TypeCase, typeCases, typeScript } from "./postgres_types.ts";

for (const engine of engines.filter(({ name }) => name === "postgres" || name === "pglite")) {
  testUnless(
    engine.ignore ?? null,
    `every type of ${engine.name} is listed, ordered and compared as by SQL, and written back`,
    async (context) => {
      const db = await engine.open();
      let app: App | null = null;
      // The timers of a service keep no process alive, and streams wait for some.
      const alive = setInterval(() => {}, 1_000);
      try {
        const cases = await createTables(db);
        app = await createApp({
          db,
          changes: { mode: "triggers" },
          secret: "a secret for the tests only",
          auth: {
            middleware: async (context, next) => {
              context.set("user", { id: "ada" });
              await next();
            },
          },
          runtime: { ...systemRuntime(() => {}), cron: undefined },
          resources: definitionsOf((await db.introspect()).tables),
        });
        const client = new Client(db, app);
        const rows = await client.rows("/t?limit=50");
        const printed = await printedOf(cases, client);
        for (const one of cases) {
          const { name, json } = one;
          if (json !== undefined) {
            assertEquals(rows.slice(0, json.length).map((row) => row[name]), json, name);
          }
          const values = new Map(
            rows.flatMap((row, index) =>
              row[name] === null ? [] : [[literal(row[name]), printed[index]?.get(name) ?? null]]
            ),
          );
          await checkOrder(one, client);
          await checkComparisons(one, [...values], client);
          await checkExtremes(one, client);
        }
        await context.step("lists are searched", () => checkLists(client));
        await context.step("lists and objects are described", () => checkDescribed(client));
        await context.step("a row is written back unchanged", () => checkWritten(rows, client));
        await context.step("a stream sees what a list sees", () => checkStreams(client));
        if (cases.some(({ name }) => name === "citext")) {
          await context.step("a citext key ignores case", () => checkCitext(client));
        }
      } finally {
        clearInterval(alive);
        await app?.close();
        await db.close();
      }
    },
  );
}

async function createTables(db: Database): Promise<readonly TypeCase[]> {
  const run = async (text: string) => await db.driver.query({ text, values: [] });
  for (const text of typeScript) await run(text);
  const cases: TypeCase[] = [];
  for (const one of typeCases) {
    const { extension } = one;
    // PGlite has none of them.
    const isThere = extension === undefined ||
      await run(`CREATE EXTENSION IF NOT EXISTS ${extension}`).then(() => true, () => false);
    if (isThere) cases.push(one);
  }
  const columns = cases.map(({ name, type }) => `${quoted(name)} ${type}`);
  await run(`CREATE TABLE t (id int PRIMARY KEY, ${columns.join(", ")})`);
  const count = Math.max(...cases.map(({ values }) => values.length)) + 2;
  for (let id = 1; id <= count; id++) {
    const cells = cases.map(({ values }) => values[id - 1] ?? (id === count ? "NULL" : values[0]));
    await run(`INSERT INTO t VALUES (${id}, ${cells.join(", ")})`);
  }
  if (cases.some(({ name }) => name === "citext")) {
    await run("CREATE TABLE users (email citext PRIMARY KEY, name text)");
    await run("CREATE TABLE notes (id int PRIMARY KEY, author citext REFERENCES users)");
    await run("INSERT INTO users VALUES ('ada@x', 'Ada'), ('Bob@x', 'Bob')");
    await run("INSERT INTO notes VALUES (1, 'ADA@x'), (2, 'bob@X')");
  }
  return cases;
}

function definitionsOf(tables: readonly TableInfo[]): readonly ResourceDefinition[] {
  const users = tables.find(({ name }) => name === "users");
  return tables.map((table) => {
    const options: ResourceOptions<Record<string, unknown>> = {
      id: table.primaryKey.map(({ name }) => name),
      auth: { public: true, create: all, update: all, delete: all },
      capabilities: { enableExport: true },
      autoRelations: false,
      relations: table.name === "notes" && users !== undefined
        ? {
          writer: { type: "belongsTo", resource: users, foreignKey: "author", filterable: true },
        }
        : {},
    };
    return resource(table, options);
  });
}

/** The texts of Postgres, row by row. */
async function printedOf(
  cases: readonly TypeCase[],
  client: Client,
): Promise<readonly ReadonlyMap<string, SqlValue>[]> {
  const columns = cases.map(({ name }) => `${quoted(name)}::text`).join(", ");
  const rows = await client.sql(`SELECT ${columns} FROM t ORDER BY id`);
  return rows.map((row) => new Map(cases.map(({ name }, index) => [name, row[index] ?? null])));
}

type Row = Readonly<Record<string, unknown>>;

class Client {
  readonly db: Database;
  readonly app: App;

  constructor(db: Database, app: App) {
    this.db = db;
    this.app = app;
  }

  async send(path: string, method = "GET", body?: unknown) {
    const response = await this.app.fetch(
      new Request(`http://test/api${path}`, {
        method,
        headers: { "content-type": "application/json" },
        body: body === undefined ? null : JSON.stringify(body),
      }),
    );
    return { status: response.status, body: await response.json() };
  }

  async ok(path: string, method = "GET", body?: unknown) {
    const answer = await this.send(path, method, body);
    assertEquals(answer.status, 200, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async rows(path: string): Promise<readonly Row[]> {
    return (await this.ok(path)).items;
  }

  async ids(filter: string): Promise<readonly unknown[]> {
    const rows = await this.rows(`/t?select=id&limit=50&filter=${encodeURIComponent(filter)}`);
    return rows.map(({ id }) => id);
  }

  /** Page by page. */
  async walk(path: string): Promise<readonly unknown[]> {
    const found: unknown[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const page = await this.ok(`${path}&cursor=${cursor}`);
      found.push(...page.items.map(({ id }: Row) => id));
      cursor = page.nextCursor;
    }
    return found;
  }

  async sql(
    text: string,
    ...values: readonly SqlValue[]
  ): Promise<readonly (readonly SqlValue[])[]> {
    return (await this.db.driver.query({ text, values })).rows;
  }

  async sqlIds(rest: string, ...values: readonly SqlValue[]): Promise<readonly unknown[]> {
    return (await this.sql(`SELECT id FROM t ${rest}`, ...values)).map(([id]) => Number(id));
  }
}

async function checkOrder({ name, compares }: TypeCase, client: Client): Promise<void> {
  for (const [key, direction] of [[name, ""], [`-${name}`, "DESC"]]) {
    if (compares !== undefined) {
      const { status, body } = await client.send(`/t?orderBy=${key}`);
      assertEquals(status, 400, name);
      assertStringIncludes(body.detail, "its type has no order");
    } else {
      assertEquals(
        await client.walk(`/t?select=id&limit=2&orderBy=${key}`),
        await client.sqlIds(`ORDER BY ${quoted(name)} ${direction} NULLS LAST, id`),
        `the order of ${key}`,
      );
    }
  }
}

const signs = { "==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=" };

/** `values` are literals of a filter, and what Postgres prints for them. */
async function checkComparisons(
  one: TypeCase,
  values: readonly (readonly [string, SqlValue])[],
  client: Client,
): Promise<void> {
  const { name, compares, refused } = one;
  const type = compares === undefined ? one.baseType ?? one.type : "text";
  const column = `${quoted(name)}::${type}`;
  const check = async (filter: string, condition: string, ...printed: readonly SqlValue[]) =>
    assertEquals(
      await client.ids(filter),
      await client.sqlIds(`WHERE ${condition} ORDER BY id`, ...printed),
      filter,
    );
  for (const [symbol, sign] of Object.entries(signs)) {
    for (const [given, printed] of values) {
      const filter = `${name}${symbol}${given}`;
      if (compares === "not at all" || compares !== undefined && /[<>]/.test(symbol)) {
        const { status } = await client.send(`/t?filter=${encodeURIComponent(filter)}`);
        assertEquals(status, 400, filter);
      } else {
        await check(filter, `${column} ${sign} $1::text::${type}`, printed);
      }
    }
  }
  await check(`${name}==null`, `${quoted(name)} IS NOT DISTINCT FROM NULL`);
  await check(`${name}!=null`, `${quoted(name)} IS DISTINCT FROM NULL`);
  const [first, ...others] = values;
  const last = others.at(-1) ?? first;
  assert(first !== undefined && last !== undefined);
  const [list, bounds] = [`(${first[0]},${last[0]})`, [first[1], last[1]]];
  const places = [`$1::text::${type}`, `$2::text::${type}`];
  if (compares !== "not at all") {
    await check(`${name}=in=${list}`, `${column} IN (${places.join()})`, ...bounds);
  }
  if (compares === undefined) {
    const between = `${column} BETWEEN ${places.join(" AND ")}`;
    await check(`${name}=between=${list}`, between, ...bounds);
  }
  if (refused === undefined) return;
  const before = `id>0;${name}=in=(${first[0]},`;
  for (const path of ["/t", "/t/count", "/t/aggregate", "/t/subscribe"]) {
    const filter = encodeURIComponent(`${before}${literal(refused)})`);
    const { status, body } = await client.send(`${path}?filter=${filter}`);
    assertEquals([status, body.code], [400, "FILTER_PARSE_ERROR"], `${path} ${name}`);
    assertEquals(body.details.position, before.length);
    assert(!/select|::|syntax/i.test(body.detail), body.detail);
  }
}

async function checkExtremes(one: TypeCase, client: Client): Promise<void> {
  const { name, compares } = one;
  const column = `${quoted(name)}::${one.baseType ?? one.type}`;
  // As texts, the least name or network is another one.
  const hasOwn = !["name", "letter", "cidr"].includes(name);
  const [[least, greatest] = []] = hasOwn
    ? await client.sql(`SELECT min(${column}), max(${column}) FROM t`).catch(() => [])
    : [];
  const { status, body } = await client.send(`/t/aggregate?min=${name}&max=${name}`);
  if (least === undefined || compares !== undefined) {
    assertEquals(status, 400, name);
  } else {
    assertEquals(status, 200, name);
    const [group] = body.groups;
    const shown = [group.min[name], group.max[name]];
    if (one.json === undefined && !one.type.endsWith("[]")) {
      assertEquals(shown, [least, greatest], name);
    }
  }
}

/** Every column, by its text and by the bytes that the server sends for it. */
async function checkWritten(rows: readonly Row[], client: Client): Promise<void> {
  const stored = () => client.sql("SELECT id, t::text FROM t ORDER BY id");
  const before = await stored();
  for (const row of rows) await client.ok(`/t/${row["id"]}`, "PUT", row);
  assertEquals(await stored(), before);
  await client.sql("DELETE FROM t WHERE id > 100");
  for (const row of rows) {
    const { status, body } = await client.send("/t", "POST", {
      ...row,
      id: Number(row["id"]) + 100,
    });
    assertEquals(status, 201, JSON.stringify(body));
  }
  const written = await client.sql("SELECT id - 100, t::text FROM t WHERE id > 100 ORDER BY id");
  const withoutId = (text: SqlValue | undefined) => String(text).replace(/^\(\d+,/, "");
  assertEquals(
    written.map(([id, text]) => [Number(id), withoutId(text)]),
    before.map(([id, text]) => [Number(id), withoutId(text)]),
  );
  await client.sql("DELETE FROM t WHERE id > 100");
}

/** Filters and the conditions of SQL that mean the same. */
const listFilters: Readonly<Record<string, string>> = {
  "ints=has=10": "10 = ANY (ints)",
  "ints=has=4": "ints @> '{4}'",
  "ints=hasany=(10,3)": "ints && '{10,3}'",
  "ints=hasall=(10,9)": "ints @> '{9,10}'",
  'texts=has="x,y"': `texts @> '{"x,y"}'`,
  "texts=has=NULL": `texts @> '{"NULL"}'`,
  "moods=has=sad": "moods @> '{sad}'",
  "nets=hasany=(10.0.0.10,::1)": "nets && '{10.0.0.10}'",
  "spans=has=48:00:00": "spans @> '{2 days}'",
  "prices=has=1.5": "prices @> '{1.5}'",
  "flags=has=true": "flags @> '{t}'",
  "moments=has=2023-12-31T22:00:00.5Z": `moments @> '{"2024-01-01 00:00:00.5+02"}'`,
  "tags=has=b": "tags @> '{b}'",
};

async function checkLists(client: Client): Promise<void> {
  for (const [filter, condition] of Object.entries(listFilters)) {
    const found = await client.ids(filter);
    assert(found.length > 0, filter);
    assertEquals(found, await client.sqlIds(`WHERE ${condition} ORDER BY id`), filter);
  }
  for (
    const filter of [
      "ints=has=x",
      "ints=has=(1,2)",
      "ints=has=null",
      "nets=has=x",
      "moods=has=glad",
      "boxes=has=(1,2)",
      "place=has=1",
      "inet=has=1",
      "ints==9",
      "place.street==a",
    ]
  ) {
    const { status, body } = await client.send(`/t?filter=${encodeURIComponent(filter)}`);
    assertEquals([status, body.code], [400, "FILTER_PARSE_ERROR"], filter);
  }
  for (
    const body of [
      { ints: "x" },
      { ints: [1.5] },
      { ints: [{}] },
      { ints: [[1], 2] },
      { texts: [1] },
      { moods: ["glad"] },
      { place: { street: 1 } },
      { place: { town: "x" } },
      { place: [] },
    ]
  ) {
    const { status } = await client.send("/t/1", "PATCH", body);
    assertEquals(status, 422, JSON.stringify(body));
  }
}

async function checkDescribed({ app }: Client): Promise<void> {
  const text = async (path: string, headers: Record<string, string> = {}) =>
    await (await app.fetch(new Request(`http://test${path}`, { headers }))).text();
  const described: ServiceSchema = JSON.parse(await text("/__service/schema"));
  const fields = described.resources.find(({ name }) => name === "t")?.fields ?? [];
  const integers = { type: "integer", format: "int64", nullable: true };
  assertEquals(
    fields.find(({ name }) => name === "ints")?.schema,
    { type: "array", items: integers },
  );
  const types = writeApiTypes(described);
  assertStringIncludes(types, "  ints: (number | null)[] | null;");
  assertStringIncludes(types, `  moods: ("sad" | "ok" | "happy" | null)[] | null;`);
  assertStringIncludes(types, "tags?: (string | null)[] | null; price?: string | null }");
  const rows = await text("/api/t?select=id,ints,place&filter=id==1", {
    accept: "text/csv",
  });
  assertEquals(
    rows,
    'id,ints,place\r\n1,"[9,10]","{""street"":""a \\""b\\"", (c)"",""number"":7,' +
      '""since"":""2024-01-01T00:00:00.000Z"",""tags"":[""x"",""y z""],""price"":""1.50""}"\r\n',
  );
}

async function checkStreams(client: Client): Promise<void> {
  const [first = {}] = await client.rows("/t?limit=1");
  const select = ["id", "ints", "place", "texts", "moments", "attributes"]
    .filter((name) => name in first);
  const filter = encodeURIComponent(`inet<"10.0.0.10";mood>=ok,ints=has=77`);
  const stream = await openEventStream(
    (signal) =>
      client.app.fetch(
        new Request(
          `http://test/api/t/subscribe?select=${select}&skipExisting=true&filter=${filter}`,
          {
            signal,
          },
        ),
      ),
    () => {},
  );
  await stream.untilSynced();
  await client.ok("/t/1", "PATCH", { inet: "10.0.0.9", mood: "happy" });
  await client.ok("/t/2", "PATCH", { inet: "10.0.0.11" });
  await client.ok("/t/3", "PATCH", { inet: "9.0.0.1", mood: "sad" });
  await client.ok("/t/4", "PATCH", { inet: "9.0.0.1", mood: "ok" });
  await client.ok("/t/5", "PATCH", { ints: [[1, 77]], place: { street: "x" }, texts: ['"', null] });
  const events = await stream.take(4);
  const [written = {}] = await client.rows("/t?filter=id==5");
  assertEquals(events.map(({ data: { type, id } }) => `${type} ${id}`), [
    "added 1",
    "removed 3",
    "added 4",
    "added 5",
  ]);
  const { ints, place, texts, moments, attributes } = written;
  const shown = { id: 5, ints, place, texts, moments };
  assertEquals(
    events[3]?.data.item,
    attributes === undefined ? shown : { ...shown, attributes },
  );
  await stream.close();
}

async function checkCitext(client: Client): Promise<void> {
  assertEquals(await client.ok("/users/ADA@X"), { email: "ada@x", name: "Ada" });
  await client.ok("/users/ADA@X", "PATCH", { name: "Ada L." });
  await client.ok("/users/ADA@X", "PUT", { email: "ADA@X", name: "Ada" });
  assertEquals((await client.ok("/users/Ada@x")).email, "ada@x");
  assertEquals(await client.rows("/notes?include=writer&filter=author==BOB@X"), [
    { id: 2, author: "bob@X", writer: { email: "Bob@x", name: "Bob" } },
  ]);
  assertEquals((await client.rows("/notes?filter=writer.name==Ada")).map(({ id }) => id), [1]);
  assertEquals((await client.rows("/users?orderBy=email")).map(({ name }) => name), ["Ada", "Bob"]);
}

function literal(value: unknown): string {
  return `"${textOf(value).replace(/["\\]/g, "\\$&")}"`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

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
        for (const one of cases) {
          const values = rows.map((row) => row[one.name]).filter((value) => value !== null);
          await checkOrder(one, client);
          await checkComparisons(one, [...new Set(values)], client);
          await checkExtremes(one, client);
        }
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

async function checkComparisons(
  one: TypeCase,
  values: readonly unknown[],
  client: Client,
): Promise<void> {
  const { name, compares, refused } = one;
  const type = compares === undefined ? one.baseType ?? one.type : "text";
  const column = `${quoted(name)}::${type}`;
  for (const [symbol, sign] of Object.entries(signs)) {
    for (const value of values) {
      const filter = `${name}${symbol}${literal(value)}`;
      if (compares !== undefined && /[<>]/.test(symbol)) {
        const { status } = await client.send(`/t?filter=${encodeURIComponent(filter)}`);
        assertEquals(status, 400, filter);
      } else {
        const where = `WHERE ${column} ${sign} $1::text::${type} ORDER BY id`;
        assertEquals(await client.ids(filter), await client.sqlIds(where, textOf(value)), filter);
      }
    }
  }
  const [first, ...others] = values;
  const last = others.at(-1) ?? first;
  const bounds = [textOf(first), textOf(last)];
  assertEquals(
    await client.ids(`${name}=in=(${literal(first)},${literal(last)})`),
    await client.sqlIds(
      `WHERE ${column} IN ($1::text::${type}, $2::text::${type}) ORDER BY id`,
      ...bounds,
    ),
  );
  if (compares === undefined) {
    assertEquals(
      await client.ids(`${name}=between=(${literal(first)},${literal(last)})`),
      await client.sqlIds(
        `WHERE ${column} BETWEEN $1::text::${type} AND $2::text::${type} ORDER BY id`,
        ...bounds,
      ),
    );
  }
  assertEquals((await client.ids(`${name}==null`)).length, 1);
  if (refused === undefined) return;
  for (const path of ["/t", "/t/count", "/t/aggregate", "/t/subscribe"]) {
    const filter = encodeURIComponent(`id>0;${name}=in=(${literal(first)},${literal(refused)})`);
    const { status, body } = await client.send(`${path}?filter=${filter}`);
    assertEquals([status, body.code], [400, "FILTER_PARSE_ERROR"], `${path} ${name}`);
    assertEquals(body.details.position, `id>0;${name}=in=(${literal(first)},`.length);
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
    const [group] = body.groups;
    assertEquals([group.min[name], group.max[name]], [least, greatest], name);
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

async function checkStreams(client: Client): Promise<void> {
  const filter = encodeURIComponent(`inet<"10.0.0.10";mood>=ok`);
  const stream = await openEventStream(
    (signal) =>
      client.app.fetch(
        new Request(`http://test/api/t/subscribe?select=id&skipExisting=true&filter=${filter}`, {
          signal,
        }),
      ),
    () => {},
  );
  await stream.untilSynced();
  await client.ok("/t/1", "PATCH", { inet: "10.0.0.9", mood: "happy" });
  await client.ok("/t/2", "PATCH", { inet: "10.0.0.11" });
  await client.ok("/t/3", "PATCH", { inet: "9.0.0.1", mood: "sad" });
  await client.ok("/t/4", "PATCH", { inet: "9.0.0.1", mood: "ok" });
  const events = await stream.take(3);
  assertEquals(events.map(({ data: { type, id } }) => `${type} ${id}`), [
    "added 1",
    "removed 3",
    "added 4",
  ]);
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

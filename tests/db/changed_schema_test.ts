import { assertEquals, assertMatch } from "@std/assert";
import { type App, createApp } from "../../src/app/app.ts";
import { all } from "../../src/filter/builders.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { engines } from "../support/engines.ts";
import { testUnless } from "../support/skip.ts";
import type { Database } from "../../src/db/database.ts";

type TestRequest = readonly [method: string, path: string, body?: unknown, accept?: string];

/** Requests to the table `notes`, one of every endpoint. */
const requests: readonly TestRequest[] = [
  ["GET", ""],
  ["GET", "/1"],
  ["GET", "?filter=title==tea&orderBy=-title"],
  ["GET", "?include=author"],
  ["GET", "/count"],
  ["GET", "/aggregate?groupBy=title&count=true"],
  ["GET", "", undefined, "application/x-ndjson"],
  ["POST", "", { id: 9, title: "x" }],
  ["PATCH", "/1", { title: "y" }],
  ["PUT", "/1", { id: 1, title: "y", authorId: null }],
  ["DELETE", "/1"],
  ["POST", "/batch", { items: [{ id: 9, title: "x" }] }],
];

for (const { name, open, ignore } of engines) {
  testUnless(
    ignore ?? null,
    `${name}: what needs a table or a column that is gone is a 503 that says so, never a 500`,
    async () => {
      const db = await open();
      await run(db, `CREATE TABLE authors (id integer PRIMARY KEY, name text)`);
      await run(
        db,
        `CREATE TABLE notes (id integer PRIMARY KEY, title text, "authorId" integer REFERENCES authors (id))`,
      );
      await run(db, `INSERT INTO notes (id, title) VALUES (1, 'tea')`);
      const reasons: string[] = [];
      const app = await serve(db, (reason) => reasons.push(reason));
      await run(db, `ALTER TABLE notes RENAME COLUMN title TO heading`);
      const renamed = await answersOf(app);
      await run(db, `DROP TABLE notes`);
      const dropped = await answersOf(app);
      // Neither a count nor a deletion needs the column.
      const others = renamed.filter(([request]) => !/count$|^DELETE/.test(request));
      for (const [request, answer] of [...others, ...dropped]) {
        assertEquals(answer, "503 SCHEMA_CHANGED 1", request);
      }
      assertMatch(reasons.join(), /heading|title|notes/);
      await app.close();
    },
  );
}

for (const { name, open, ignore } of engines.filter(({ name }) => name !== "postgres")) {
  testUnless(
    ignore ?? null,
    `${name}: a foreign key to a table that is not there is no relation, and a write that needs it is a 409`,
    async () => {
      const db = await open();
      await run(
        db,
        `CREATE TABLE notes (id integer PRIMARY KEY, title text, "authorId" integer REFERENCES nowhere (id))`,
      );
      const app = await serve(db, () => {});
      assertEquals(await answerOf(app, ["GET", ""]), "200");
      assertEquals(await answerOf(app, ["GET", "?include=author"]), "400 INVALID_PARAMETER");
      assertEquals(await answerOf(app, ["POST", "", { title: "x", authorId: 7 }]), "409 CONFLICT");
      await app.close();
    },
  );
}

testUnless(
  engines.find(({ name }) => name === "postgres")?.ignore ?? null,
  "postgres: a column of names of objects is read when an object is gone, and other types of prepared columns",
  async () => {
    const db = await engines.find(({ name }) => name === "postgres")?.open();
    if (db === undefined) throw new Error("There is no such engine");
    await run(db, `CREATE TABLE gone (id integer)`);
    await run(db, `CREATE TABLE notes (id integer PRIMARY KEY, title integer, about regclass)`);
    await run(db, `INSERT INTO notes VALUES (1, 5, 'gone')`);
    const app = await serve(db, () => {});
    await run(db, `DROP TABLE gone`);
    assertEquals(await answerOf(app, ["GET", ""]), "200");
    assertEquals(await answerOf(app, ["GET", "?filter=about==nowhere"]), "200");
    const body = { id: 2, about: "nowhere" };
    assertEquals(await answerOf(app, ["POST", "", body]), "422 VALIDATION_ERROR");
    await run(db, `ALTER TABLE notes ALTER COLUMN title TYPE bigint`);
    assertEquals(await answerOf(app, ["GET", ""]), "200");
    assertEquals(await answerOf(app, ["GET", ""]), "200");
    await app.close();
  },
);

/** A column of a type, the type that it gets, and requests that the types of the start make fail. */
const retyped: readonly (readonly [from: string, to: string, ...requests: TestRequest[]])[] = [
  ["integer", "text", ["GET", "?filter=title>5"], ["GET", "?filter=title=in=(1,2)"]],
  ["integer", "text", ["GET", "/count?filter=title==5"], ["DELETE", "/batch", {
    filter: "title>5",
  }]],
  ["integer", "text", ["GET", "/aggregate?sum=title"]],
  ["integer", "boolean USING title > 0", ["GET", "?filter=title!=5"]],
  ["text", "integer USING 1", ["GET", "?filter=title==tea"]],
  ["text", "integer USING 1", ["GET", "?filter=title=contains=tea"]],
  ["text", "jsonb USING NULL", ["GET", "?filter=title==tea"]],
  ["boolean", "text", ["GET", "?filter=title==true"]],
  ["timestamptz", "text", ["GET", "?filter=title>2026-01-01T00:00:00Z"]],
  ["date", "integer USING 1", ["GET", "?filter=title>2026-01-01"]],
  ["uuid", "text", ["GET", "?filter=title==00000000-0000-0000-0000-000000000000"]],
  ["numeric", "text", ["GET", "?filter=title<5"]],
];

testUnless(
  engines.find(({ name }) => name === "postgres")?.ignore ?? null,
  "postgres: a filter by a column that has another type by now was a 500",
  async () => {
    for (const [from, to, ...wanted] of retyped) {
      const db = await engines.find(({ name }) => name === "postgres")?.open();
      if (db === undefined) throw new Error("There is no such engine");
      await run(db, `CREATE TABLE notes (id integer PRIMARY KEY, title ${from})`);
      const app = await serve(db, () => {});
      assertEquals(await answerOf(app, ["GET", ""]), "200");
      await run(db, `ALTER TABLE notes ALTER COLUMN title TYPE ${to}`);
      for (const request of wanted) {
        assertEquals(await answerOf(app, request), "503 SCHEMA_CHANGED 1", `${from} ${request}`);
      }
      await app.close();
    }
  },
);

async function run(db: Database, text: string): Promise<void> {
  await db.query({ text, values: [] });
}

async function serve(db: Database, failed: (reason: string) => void): Promise<App> {
  const { tables } = await db.introspect();
  return await createApp({
    db,
    secret: "a secret for the test",
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    runtime: systemRuntime((observation) => {
      if (observation.kind === "request_failed") failed(Deno.inspect(observation.error));
    }),
    resources: tables.map((table) =>
      resource(table, {
        id: table.primaryKey.map(({ name }) => name),
        auth: { public: { read: true }, create: all, update: all, delete: all },
        capabilities: { enableExport: true, enableSubscribe: false },
      })
    ),
  });
}

async function answersOf(app: App): Promise<readonly (readonly [string, string])[]> {
  const answers: (readonly [string, string])[] = [];
  for (const request of requests) {
    answers.push([`${request[0]} ${request[1]}`, await answerOf(app, request)]);
  }
  return answers;
}

/** The status of an answer, its code and when to come again. */
async function answerOf(app: App, [method, path, body, accept]: TestRequest): Promise<string> {
  const response = await app.fetch(
    new Request(`http://localhost/api/notes${path}`, {
      method,
      ...(accept === undefined ? {} : { headers: { accept } }),
      ...(body === undefined ? {} : {
        body: JSON.stringify(body),
        headers: { "content-type": "application/json" },
      }),
    }),
  );
  const text = await response.text();
  const code = response.status < 400 ? "" : JSON.parse(text).code;
  return `${response.status} ${code} ${response.headers.get("retry-after") ?? ""}`.trim();
}

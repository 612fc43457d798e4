import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { createApp } from "../src/app/app.ts";
import type { AppConfig } from "../src/app/config.ts";
import { openDatabase } from "../src/engines/open_database.ts";
import { all } from "../src/filter/builders.ts";
import { resource } from "../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../src/runtime/system_runtime.ts";
import { integer, text } from "../src/schema/column_builder.ts";
import { table } from "../src/schema/table.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text() });
const others = table("others", { id: integer().primaryKey(), title: text() });
const pairs = table("pairs", { a: integer().primaryKey(), b: integer().primaryKey() });

/** The error of the start with this configuration, whose types are wrong on purpose. */
async function complaint(config: (db: unknown) => unknown): Promise<string> {
  const db = await openDatabase("sqlite::memory:");
  const given = { runtime: systemRuntime(() => {}), ...config(db) as Record<string, unknown> };
  const start = () => createApp(given as unknown as AppConfig);
  const error = await assertRejects(start, Error);
  await db.close();
  assertEquals(error.constructor, Error, String(error));
  return error.message;
}

const services: readonly (readonly [name: string, unknown, message: string])[] = [
  ["no db", { resources: [] }, "db is missing: give it db: await openDatabase(url)"],
  [
    "a URL as db",
    { db: "postgres://ada:s3cret@host/db", resources: [] },
    "db is a string: open it by db: await openDatabase(url)",
  ],
  [
    "a driver as db",
    { db: {}, resources: [] },
    "db must be a database from openDatabase(), not an object",
  ],
];

for (const [name, config, message] of services) {
  Deno.test(`${name} fails the start with a sentence`, async () => {
    assertEquals(await complaint(() => config), `Cannot start: ${message}`);
  });
}

Deno.test("a database that is not awaited fails the start with a sentence", async () => {
  const db = openDatabase("sqlite::memory:");
  assertEquals(
    await complaint(() => ({ db, resources: [] })),
    "Cannot start: db is a promise: write db: await openDatabase(url)",
  );
  await (await db).close();
});

const withDb: readonly (readonly [name: string, unknown, message: string])[] = [
  [
    "no resources",
    {},
    "resources is missing: it must be a list of what resource(table, options) gives",
  ],
  [
    "one resource, not listed",
    { resources: notes },
    "resources must be a list of what resource(table, options) gives, not an object",
  ],
  [
    "a table as a resource",
    { resources: [notes] },
    "resources[0] must be made by resource(), not a table: write resource(table, options)",
  ],
  [
    "a resource that resource() did not make",
    { resources: [undefined] },
    "resources[0] is missing: it must be made by resource()",
  ],
  [
    "a misspelt option",
    { resources: [], bodylimit: 5 },
    'there is no option "bodylimit": did you mean "bodyLimit"?',
  ],
  [
    "a middleware as auth",
    { resources: [], auth: () => {} },
    "auth is a function: write auth: { middleware }",
  ],
  [
    "an origin as cors",
    { resources: [], cors: "*" },
    'cors must be true, false or an object, not "*"',
  ],
  [
    "cors without an origin",
    { resources: [], cors: { credentials: true } },
    'cors.origin is missing: it must be an origin like "https://example.com", "*" or a list of origins',
  ],
  [
    "a misspelt option of auth",
    { resources: [], auth: { midleware: () => {} } },
    'auth has no option "midleware": did you mean "middleware"?',
  ],
  [
    "a store that is not awaited",
    { resources: [], kv: Promise.resolve() },
    "kv is a promise: write kv: await Deno.openKv()",
  ],
  [
    "another kind of store",
    { resources: [], kv: "redis://ada:s3cret@host" },
    'kv takes a path, ":memory:", an https:// or a postgres:// URL, not one of redis://',
  ],
  ...["http://store.example:4512", "http://10.0.0.7", "http://127.0.0.1.example", "http://["]
    .map((kv) =>
      [
        `a store beyond this machine without TLS, ${kv}`,
        { resources: [], kv },
        "kv takes http:// on this machine alone: use https://",
      ] as const
    ),
  ["an empty path as store", { resources: [], kv: "" }, "kv is an empty string: name a path"],
  [
    "an object that is no store",
    { resources: [], kv: { get() {} } },
    "kv must be a string, a Deno.Kv or a KeyValue, not an object",
  ],
  [
    "one middleware, not listed",
    { resources: [], middleware: () => {} },
    "middleware must be a list of functions, not a function",
  ],
];

for (const [name, config, message] of withDb) {
  Deno.test(`${name}: the start fails with a sentence`, async () => {
    const error = await complaint((db) => ({ db, ...config as Record<string, unknown> }));
    assertEquals(error, `Cannot start: ${message}`);
  });
}

Deno.test("an option of another library: the start fails with the options that there are", async () => {
  const error = await complaint((db) => ({ db, resources: [], telemetryEndpoint: "x" }));
  assertMatch(error, /^Cannot start: there is no option "telemetryEndpoint"; known are db, \w+, /);
});

const resources: readonly (readonly [name: string, options: unknown, message: string])[] = [
  ["no options", undefined, "it has no options, like { id: notes.id }"],
  ["no id", {}, "id is missing: name the primary key, id: notes.id"],
  ["another table's id", { id: others.id }, 'id names "id" of another table, "others"'],
  ["an id that is no column", { id: 1 }, "id must be a list of columns or a column, not 1"],
  [
    "another table's field",
    { id: notes.id, fields: { readable: [notes.id, others.title] } },
    'fields.readable names "title" of another table, "others"',
  ],
  [
    "a field that does not exist",
    { id: notes.id, fields: { readable: [undefined] } },
    "fields.readable[0] is missing: it must be a column",
  ],
  [
    "one field, not listed",
    { id: notes.id, fields: { readable: notes.id } },
    "fields.readable must be a list of columns, a synchronous function or an object with `all` and `by`, not an object",
  ],
  [
    "a misspelt option",
    { id: notes.id, capabilites: {} },
    'there is no option "capabilites": did you mean "capabilities"?',
  ],
  [
    "a misspelt capability",
    { id: notes.id, capabilities: { enabledDelete: false } },
    'capabilities has no option "enabledDelete": did you mean "enableDelete"?',
  ],
  [
    "a misspelt list of fields",
    { id: notes.id, fields: { readeable: [] } },
    'fields has no option "readeable": did you mean "readable"?',
  ],
  [
    "a misspelt limit",
    { id: notes.id, pagination: { maximum: 5 } },
    'pagination has no option "maximum": did you mean "maxLimit"?',
  ],
  [
    "a misspelt scope",
    { id: notes.id, auth: { reed: () => all() } },
    'auth has no option "reed": did you mean "read"?',
  ],
  [
    "a scope for everything",
    { id: notes.id, auth: () => all() },
    "auth is a function: say for what, like auth: { read: … }",
  ],
  [
    "a filter instead of a scope",
    { id: notes.id, auth: { read: all() } },
    "auth.read must be a function of the user, like () => all(), not an object",
  ],
  [
    "a filter for anonymous callers, which would open every row",
    { id: notes.id, auth: { public: { read: all() } } },
    "auth.public.read must be true, false or a function that gives a filter, not an object",
  ],
  [
    "an option whose name is near to none",
    { id: notes.id, auth: { write: () => all() } },
    'auth has no option "write"; known are public, read, create, update, delete, subscribe',
  ],
  [
    "a function as public",
    { id: notes.id, auth: { public: () => all() } },
    "auth.public must be true, false or an object, not a function",
  ],
  [
    "a URL as its db",
    { id: notes.id, db: "sqlite:notes.db" },
    "db is a string: open it by db: await openDatabase(url)",
  ],
  [
    "a path that is no text",
    { id: notes.id, path: 5 },
    'path must be like "notes", with no slash at an end and what a URL cannot hold ' +
    "percent-encoded, not 5",
  ],
  [
    "a hidden key that streams would send",
    { id: notes.id, fields: { readable: [notes.title] }, auth: { public: true } },
    'streams send the key of a removed row, but "id" is not in fields.readable: add it, or set ' +
    "capabilities.enableSubscribe to false",
  ],
  [
    "a list in place of an object",
    { id: notes.id, fields: [notes.id] },
    "fields must be an object, not a list",
  ],
];

for (const [name, options, message] of resources) {
  Deno.test(`a resource with ${name} fails the start with a sentence`, async () => {
    const error = await complaint((db) => ({ db, resources: [{ table: notes, options }] }));
    assertEquals(error, `Cannot serve "notes": ${message}`);
  });
}

Deno.test("a path is percent-encoded, without a slash at an end", async () => {
  const complaintOf = (path: string) =>
    complaint((db) => ({ db, resources: [resource(notes, { id: notes.id, path })] }));
  for (const path of ["", "/notes", "notes/", "a//b", "my notes", "notes?", "é", "..", "50%"]) {
    assertEquals(
      await complaintOf(path),
      'Cannot serve "notes": path must be like "notes", with no slash at an end and what a URL ' +
        `cannot hold percent-encoded, not ${JSON.stringify(path)}`,
    );
  }
  // These pass, so that the start fails at the missing table.
  for (const path of ["notes", "shop/notes", "my%20notes", "notes.v2", "~ada"]) {
    assertEquals((await complaintOf(path)).includes("notes is missing: run"), true, path);
  }
});

Deno.test("all columns of a composite key are suggested", async () => {
  const error = await complaint((db) => ({ db, resources: [{ table: pairs, options: {} }] }));
  assertEquals(
    error,
    'Cannot serve "pairs": id is missing: name the primary key, id: [pairs.a, pairs.b]',
  );
});

import { assert, assertEquals, assertRejects } from "@std/assert";
import { DatabaseSync } from "node:sqlite";
import BetterSqlite3 from "better-sqlite3";
import pg from "pg";
import postgres from "postgres";
import { drizzle as olderBetter } from "drizzle-0.45/better-sqlite3";
import { drizzle as olderPostgresJs } from "drizzle-0.45/postgres-js";
import { drizzle as newerBetter } from "drizzle-1.0/better-sqlite3";
import { drizzle as newerNode } from "drizzle-1.0/node-sqlite";
import { drizzle as newerPostgresJs } from "drizzle-1.0/postgres-js";
import { drizzle as newerNodePostgres } from "drizzle-1.0/node-postgres";
import { drizzle as d1 } from "drizzle-1.0/d1";
import { drizzle as newerPglite } from "drizzle-1.0/pglite";
import { PGlite } from "@electric-sql/pglite";
import { createApp, type Database, eq, openDatabase, resource } from "../../mod.ts";
import type { DrizzleDatabase } from "../../exports/drizzle.ts";
import { type DrizzleLine, drizzleLines } from "../support/drizzle_schema.ts";
import { copyPglite } from "../support/engines.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { scratchFolder } from "../support/scratch.ts";

Deno.test("the file of Drizzle's client is opened beside it, by its library", async () => {
  await using folder = await scratchFolder();
  const clients = [
    (path: string) => sameOf(new BetterSqlite3(path), olderBetter),
    (path: string) => sameOf(new BetterSqlite3(path), (client) => newerBetter({ client })),
    (path: string) => sameOf(new DatabaseSync(path), (client) => newerNode({ client })),
  ];
  for (const [index, open] of clients.entries()) {
    const { drizzle, client } = open(`${folder.path}/${index}.db`);
    client.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY, owner_id TEXT)");
    client.exec("INSERT INTO notes (owner_id) VALUES ('Drizzle')");
    const db = await openDatabase(drizzle);
    assertEquals(await owners(db), ["Drizzle"]);
    await db.query({ text: "UPDATE notes SET owner_id = 'service'", values: [] });
    assertEquals({ ...Object(client.prepare("SELECT owner_id FROM notes").get()) }, {
      owner_id: "service",
    });
    await db.close();
    client.exec("DELETE FROM notes");
    client.close();
  }
});

Deno.test("a client that the service cannot open beside is refused", async () => {
  const better = new BetterSqlite3(":memory:");
  const node = new DatabaseSync(":memory:");
  for (const drizzle of [olderBetter(better), newerNode({ client: node })]) {
    await assertRejects(() => openDatabase(drizzle), Error, "it is in memory");
  }
  const other = Object.assign(olderBetter(better), { $client: { name: "notes.db" } });
  await assertRejects(() => openDatabase(other), Error, "another copy of better-sqlite3");
  const remote = d1({} as never);
  await assertRejects(
    () => openDatabase(remote),
    Error,
    "Cannot open a D1Database of Drizzle: the service has drivers for the clients better-sqlite3, node:sqlite",
  );
  better.close();
  node.close();
});

Deno.test("createApp opens a database of Drizzle, and closes it; columns have the names of its casing", async () => {
  await using folder = await scratchFolder();
  const client = new BetterSqlite3(`${folder.path}/notes.db`);
  client.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY, owner_id TEXT)");
  const [older] = drizzleLines;
  assert(older !== undefined);
  const notes = notesOf(older);
  const app = await createApp({
    db: olderBetter(client, { casing: "snake_case" }),
    secret: "a secret for the tests only",
    resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
  });
  client.exec("INSERT INTO notes (owner_id) VALUES ('Drizzle')");
  const answer = await app.fetch(new Request("http://localhost/api/notes"));
  assertEquals((await answer.json()).items, [{ id: 1, ownerId: "Drizzle" }]);
  await app.close();
  await assertRejects(
    () =>
      createApp({
        db: olderBetter(client, { casing: "snake_case" }),
        secret: "a secret for the tests only",
        resources: [resource(usedOf(older), { id: "id" })],
      }),
    Error,
    "call nameColumns()",
  );
  client.close();
});

testOnPostgres("the server of Drizzle's client is opened with sessions of its own", async (url) => {
  const client = postgres(url, { max: 1, onnotice: () => {} });
  await client`CREATE TABLE notes (id int PRIMARY KEY, owner_id text)`;
  await client`INSERT INTO notes VALUES (1, 'Drizzle')`;
  for (const drizzle of [olderPostgresJs(client), newerPostgresJs({ client })]) {
    const db = await openDatabase(drizzle);
    assertEquals(await owners(db), ["Drizzle"]);
    assertEquals((await db.query({ text: "SHOW timezone", values: [] })).rows, [["UTC"]]);
    await db.close();
  }
  const { host, port, database, user, pass } = client.options;
  const server = { host: host[0], port: port[0], database, user, password: pass ?? undefined };
  for (const pool of [new pg.Pool({ connectionString: url }), new pg.Pool(server)]) {
    const db = await openDatabase(newerNodePostgres({ client: pool }));
    assertEquals(await owners(db), ["Drizzle"]);
    await db.close();
    await pool.end();
  }
  await client.end();
});

Deno.test("a PGlite is shared: what the program runs is no part of a transaction", async () => {
  const { path, remove } = await copyPglite();
  const client = new PGlite(path);
  await client.exec("CREATE TABLE notes (id int PRIMARY KEY, owner_id text, at timestamptz)");
  const db = await openDatabase(newerPglite({ client }));
  const written = Promise.withResolvers<unknown>();
  const failed = assertRejects(() =>
    db.transaction(async (transaction) => {
      await transaction.query({ text: "INSERT INTO notes VALUES (1, 'service')", values: [] });
      written.resolve(client.query("INSERT INTO notes VALUES (2, 'program', '2026-01-01 00:00Z')"));
      throw new Error("It rolls back");
    })
  );
  await written.promise;
  await failed;
  assertEquals(await owners(db), ["program"]);
  await db.transaction(async (transaction) => {
    await transaction.query({ text: "INSERT INTO notes VALUES (3, 'service')", values: [] });
  });
  await assertRejects(() =>
    db.transaction(async (transaction) => {
      await transaction.query({ text: "INSERT INTO notes VALUES (4, 'service')", values: [] });
      await transaction.query({ text: "INSERT INTO notes VALUES (4, 'service')", values: [] })
        .catch(() => {});
    })
  );
  assertEquals(await owners(db), ["program", "service"]);
  const { rows } = await client.query<{ at: Date }>("SELECT at FROM notes WHERE id = 2");
  assertEquals(rows[0]?.at, new Date("2026-01-01T00:00Z"));
  await db.close();
  await client.query("SELECT 1");
  await client.close();
  await remove();
});

interface SqliteClient {
  exec(text: string): unknown;
  prepare(text: string): { get(): unknown };
  close(): void;
}

/** The client, and a database of Drizzle over it. */
function sameOf<Client extends SqliteClient>(client: Client, drizzle: (client: Client) => object) {
  // Whatever line it is of.
  return { client, drizzle: drizzle(client) as DrizzleDatabase };
}

async function owners(db: Database): Promise<unknown[]> {
  const { rows } = await db.query({ text: "SELECT owner_id FROM notes ORDER BY id", values: [] });
  return rows.flat();
}

function notesOf({ sqlite }: DrizzleLine) {
  return sqlite.sqliteTable("notes", { id: sqlite.integer().primaryKey(), ownerId: sqlite.text() });
}

function usedOf(line: DrizzleLine) {
  const notes = notesOf(line);
  eq(notes.ownerId, "ada");
  return notes;
}

import { assertEquals } from "@std/assert";
import {
  all,
  createApp,
  type Database,
  integer,
  openDatabase,
  resource,
  table,
  text,
} from "../../mod.ts";
import { sql } from "../../exports/sql.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { insertRows } from "../support/http.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

/** Filters as dear as a client may find one: each row takes 20 seconds. */
const slowFilter = "filter=title%3Dslow%3D20";

test(
  "fourteen slow anonymous lists hold all ten connections, and a keyed read and a write are refused",
  async (url, db) => {
    const clients = new AbortController();
    const lists = Array.from({ length: 14 }, (_, index) => {
      const path = ["notes", "notes/count", "notes/aggregate"][index % 3];
      return fetch(`${url}/${path}?${slowFilter}`, { signal: clients.signal }).catch(() => null);
    });
    await untilSleeping(db, 4);
    const got = await fetch(`${url}/notes/1`);
    assertEquals([got.status, (await got.json()).title], [200, "a"]);
    const patched = await fetch(`${url}/notes/1`, {
      method: "PATCH",
      headers: { "content-type": "application/json", "x-user": "ada" },
      body: '{ "title": "b" }',
    });
    assertEquals([patched.status, (await patched.json()).title], [200, "b"]);
    clients.abort();
    await Promise.all(lists);
    await untilSleeping(db, 0);
  },
);

test("the statement of a client that has left runs on", async (url, db) => {
  for (const path of ["notes", "notes/count", "notes/aggregate"]) {
    const client = new AbortController();
    const list = fetch(`${url}/${path}?${slowFilter}`, { signal: client.signal });
    await untilSleeping(db, 1);
    client.abort();
    await list.catch(() => {});
    await untilSleeping(db, 0);
  }
});

test("a list that takes too long is an outage of the database", async (url, db) => {
  const answer = await fetch(`${url}/notes?${slowFilter}`);
  const { type, status } = await answer.json();
  assertEquals([status, type.split("/").at(-1)], [422, "query-too-expensive"]);
  await untilSleeping(db, 0);
}, { queryTimeoutMs: 100 });

test("fourteen slow batches hold all ten connections", async (url, db) => {
  const clients = new AbortController();
  const headers = { "content-type": "application/json", "x-user": "ada" };
  const batches = Array.from({ length: 14 }, (_, index) => {
    const [method, change] = index % 2 ? ["DELETE", {}] : ["PATCH", { patch: { title: "b" } }];
    const body = JSON.stringify({ filter: "title=slow=20", ...change });
    const request = { method, headers, body, signal: clients.signal };
    return fetch(`${url}/notes/batch`, request).catch(() => null);
  });
  await untilSleeping(db, 4);
  const patched = await fetch(`${url}/notes/1`, {
    method: "PATCH",
    headers,
    body: '{ "title": "b" }',
  });
  assertEquals([patched.status, (await patched.json()).title], [200, "b"]);
  clients.abort();
  await Promise.all(batches);
  await untilSleeping(db, 0);
});

test("a page of wide rows is read whole, however large it is", async (url, db) => {
  await insertRows(
    db,
    notes,
    Array.from({ length: 20 }, (_, index) => ({ id: index + 10, title: "x".repeat(50_000) })),
  );
  const answer = await fetch(`${url}/notes?limit=50`);
  const { type, status } = await answer.json();
  assertEquals([status, type.split("/").at(-1)], [422, "query-too-expensive"]);
  const page = await fetch(`${url}/notes?limit=5`);
  assertEquals((await page.json()).items.length, 5);
}, { maxAnswerBytes: 300_000 });

function test(
  promise: string,
  work: (url: string, db: Database) => Promise<void>,
  costs: { readonly queryTimeoutMs?: number; readonly maxAnswerBytes?: number } = {},
): void {
  testOnPostgres(promise, async (url) => {
    const db = await openDatabase(url);
    try {
      await db.createTables([notes]);
      await insertRows(db, notes, [{ id: 1, title: "a" }]);
      await serve(await openDatabase(url), costs, (served) => work(served, db));
    } finally {
      await db.close();
    }
  });
}

async function serve(
  db: Database,
  costs: { readonly queryTimeoutMs?: number; readonly maxAnswerBytes?: number },
  work: (url: string) => Promise<void>,
): Promise<void> {
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    runtime: systemRuntime(() => {}),
    auth: {
      middleware: async (context, next) => {
        if (context.req.header("x-user") !== undefined) context.set("user", { id: "ada" });
        await next();
      },
    },
    ...costs,
    resources: [
      resource(notes, {
        id: notes.id,
        auth: { public: { read: true }, update: () => all(), delete: () => all() },
        customOperators: {
          "=slow=": {
            toSql: (_column, [seconds = ""]) =>
              sql`pg_sleep(${seconds}::float8)::text = ${"never"}`,
            matches: () => false,
          },
        },
      }),
    ],
  });
  const listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => app.fetch(request),
  );
  try {
    await work(`http://127.0.0.1:${listener.addr.port}/api`);
  } finally {
    await listener.shutdown();
    await app.close();
  }
}

/** Waits until as many statements sleep on the server. */
async function untilSleeping(db: Database, count: number): Promise<void> {
  const text = `SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event = 'PgSleep'`;
  let sleeping = -1;
  for (let attempt = 0; attempt < 300; attempt++) {
    sleeping = Number((await db.driver.query({ text, values: [] })).rows[0]?.[0]);
    if (sleeping === count) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${sleeping} statements sleep, not ${count}`);
}

import { assert, assertEquals } from "@std/assert";
import { createApp, integer, openDatabase, resource, table, text } from "../../mod.ts";
import { listen } from "../../src/listen/listener.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

const books = table("books", { id: integer().primaryKey(), body: text().notNull() });
const megabytes = 15;
const runtime = systemRuntime(() => {});

/** A service with an answer of 15 MB, below the limit of one, at `/api/books`. */
async function startService() {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([books]);
  await db.driver.query({
    text: `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${megabytes})
           INSERT INTO books SELECT i, replace(hex(zeroblob(330000)), '00', 'aé') FROM n`,
    values: [],
  });
  const app = await createApp({
    db,
    runtime,
    secret: "a secret for the tests only",
    resources: [resource(books, { id: books.id, auth: { public: { read: true } } })],
  });
  return listen(app, { port: 0, onListen: () => {} }, runtime);
}

/** Requests the large answer, and reads its status alone. */
async function statusOf(connection: Deno.Conn): Promise<string> {
  const request = "GET /api/books?select=body HTTP/1.1\r\nhost: x\r\n\r\n";
  await connection.write(new TextEncoder().encode(request));
  const first = new Uint8Array("HTTP/1.1 200".length);
  await connection.read(first);
  return new TextDecoder().decode(first.subarray(-3));
}

Deno.test("answers of 15 MB that no client read were held without a limit", async () => {
  const server = await startService();
  const unread: Deno.Conn[] = [];
  const connect = () => Deno.connect({ hostname: "127.0.0.1", port: server.port });
  try {
    const statuses: string[] = [];
    for (let at = 0; at < 12; at++) {
      const connection = await connect();
      unread.push(connection);
      statuses.push(await statusOf(connection));
    }
    const sent = statuses.filter((status) => status === "200").length;
    // A row has 330,000 times three bytes.
    assert(sent * megabytes * 990_000 <= 128 * 1024 * 1024, statuses.join());
    assertEquals(statuses.slice(sent), Array(12 - sent).fill("503"));

    // The answers of connections that are gone no longer count.
    for (const connection of unread.splice(0)) connection.close();
    for (let status = "503"; status !== "200";) {
      using connection = await connect();
      status = await statusOf(connection);
    }
  } finally {
    for (const connection of unread) connection.close();
    await server.stop();
  }
});

Deno.test("a large answer is whole, with its length, and counts no longer than it is read", async () => {
  const server = await startService();
  try {
    for (let turn = 0; turn < 10; turn++) {
      const answer = await fetch(`http://127.0.0.1:${server.port}/api/books?select=body`);
      const bytes = await answer.bytes();
      assertEquals(answer.status, 200);
      assertEquals(answer.headers.get("content-length"), String(bytes.length));
      if (turn > 0) continue;
      const { items } = JSON.parse(new TextDecoder().decode(bytes));
      assertEquals(items.length, megabytes);
      assert(items.every(({ body }: { body: string }) => body === "aé".repeat(330_000)));
    }
  } finally {
    await server.stop();
  }
});

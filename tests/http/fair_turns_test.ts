import { assert, assertEquals } from "@std/assert";
import { createApp, integer, resource, table, text } from "../../mod.ts";
import type { Runtime } from "../../exports/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { engines } from "../support/engines.ts";
import { testUnless } from "../support/skip.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text() });

/** How long a list takes, by a clock that nothing else moves. */
const listMs = 11;
const listCount = 50;

for (const { name, open, ignore } of engines) {
  const isOfThisThread = name === "better-sqlite3" || name === "node:sqlite";
  const reason = ignore ??
    (isOfThisThread ? null : "a database of its own process lets others in while it works");

  testUnless(reason, `a row is answered after fifty dear lists: ${name}`, async () => {
    let elapsedMs = 0;
    const system = systemRuntime(() => {});
    const clock = { ...system.clock, elapsedMs: () => elapsedMs };
    const runtime: Runtime = { ...system, clock };
    const db = await open();
    await db.createTables([notes]);
    await db.driver.query({ text: "INSERT INTO notes VALUES (1, 'one')", values: [] });
    const firstBegan = Promise.withResolvers<void>();
    const app = await createApp({
      db,
      runtime,
      secret: "sixteen or more characters",
      resources: [
        resource(notes, { id: notes.id, path: "rows", auth: { public: { read: true } } }),
        resource(notes, {
          id: notes.id,
          auth: { public: { read: true } },
          computed: {
            slow: () => {
              firstBegan.resolve();
              return elapsedMs += listMs;
            },
          },
        }),
      ],
    });
    const answered: string[] = [];
    const allArrived = Promise.withResolvers<void>();
    let arrived = 0;
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      async (request) => {
        const { pathname } = new URL(request.url);
        if (pathname === "/api/notes") {
          if (++arrived === listCount) allArrived.resolve();
          await allArrived.promise;
        }
        const response = await app.fetch(request);
        answered.push(`${response.status} ${pathname}`);
        return response;
      },
    );
    const { port } = server.addr;
    // Its connection is open before the lists arrive.
    const row = await connectTo(port);
    const lists = await Promise.all(Array.from({ length: listCount }, () => connectTo(port)));
    await Promise.all(lists.map((list) => send(list, "/api/notes")));
    await firstBegan.promise;
    await send(row, "/api/rows/1");
    await Promise.all([row, ...lists].map(receive));
    const place = answered.indexOf("200 /api/rows/1");
    assert(place >= 0 && place < listCount / 2, `it was number ${place} of the answers`);
    assertEquals(answered.filter((answer) => answer === "200 /api/notes").length, listCount);
    for (const connection of [row, ...lists]) connection.close();
    await server.shutdown();
    await app.close();
    await db.close();
  });
}

function connectTo(port: number): Promise<Deno.TcpConn> {
  return Deno.connect({ hostname: "127.0.0.1", port });
}

async function send(connection: Deno.TcpConn, path: string): Promise<void> {
  await connection.write(new TextEncoder().encode(`GET ${path} HTTP/1.1\r\nhost: test\r\n\r\n`));
}

/** The beginning of an answer: it fits into one segment. */
async function receive(connection: Deno.TcpConn): Promise<void> {
  await connection.read(new Uint8Array(4_096));
}

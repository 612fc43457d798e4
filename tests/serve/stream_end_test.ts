import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";

Deno.test("streams end while their clients disconnect", async () => {
  const notes = table("notes", { id: integer().primaryKey() });
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const app = await createApp({
    db,
    runtime: systemRuntime(() => {}),
    secret: "a secret for the tests only",
    subscribe: { maxPerAddress: clients },
    resources: [resource(notes, { id: notes.id, auth: { public: { subscribe: true } } })],
  });
  // By then the listener has noticed all disconnects, and has reported one to the app.
  const left = Promise.withResolvers<void>();
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request, info) => {
    info.completed.then(left.resolve, () => left.resolve());
    return app.fetch(request, info);
  });
  const { port } = server.addr;
  const connections = await Promise.all(Array.from({ length: clients }, () => openStream(port)));
  for (const connection of connections) connection.close();
  await left.promise;
  await app.close();
  await server.shutdown();
});

const clients = 200;

async function openStream(port: number): Promise<Deno.Conn> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  const request = "GET /api/notes/subscribe HTTP/1.1\r\nhost: test\r\n\r\n";
  await connection.write(new TextEncoder().encode(request));
  const buffer = new Uint8Array(4_096);
  for (let text = ""; !text.includes(`"hasMore":false`);) {
    const length = await connection.read(buffer);
    if (length === null) throw new Error(`the stream ended after ${text}`);
    text += new TextDecoder().decode(buffer.subarray(0, length));
  }
  return connection;
}

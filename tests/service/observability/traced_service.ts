/** A service with spans, as a process of its own: prints its port, and ends with its input. */
import { all, integer, openDatabase, resource, serve, table, text } from "../../../mod.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });
const db = await openDatabase("sqlite::memory:");
await db.createTables([notes]);
const server = await serve({
  db,
  port: 0,
  secret: "a secret for the tests only",
  observability: { openTelemetry: true, requests: true },
  // The first line of the standard output is the port.
  onListen() {},
  auth: {
    middleware: async (context, next) => {
      context.set("user", { id: "ann" });
      await next();
    },
  },
  resources: [resource(notes, {
    id: notes.id,
    auth: { public: { read: true }, create: () => all() },
    capabilities: { enableBatch: true },
  })],
});
console.log(server.port);
for await (const _ of Deno.stdin.readable);
await server.stop();

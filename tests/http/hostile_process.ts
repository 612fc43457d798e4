/** The target of the hostile tests: a real listener over a table with text keys, open to all. */
import { all, integer, json, openDatabase, resource, serve, table, text } from "../../mod.ts";

const things = table("things", { id: text().primaryKey(), rank: integer(), extra: json() });
const db = await openDatabase("sqlite::memory:");
await db.createTables([things]);
const server = await serve({
  db,
  port: 0,
  secret: "a secret for the tests only",
  bodyTimeoutMs: 700,
  auth: {
    middleware: async (context, next) => {
      context.set("user", { id: "ada" });
      await next();
    },
  },
  resources: [
    resource(things, {
      id: things.id,
      auth: { public: true, create: () => all(), update: () => all(), delete: () => all() },
    }),
  ],
  onListen: ({ port }) => console.log(`port ${port}`),
});
await server.finished;

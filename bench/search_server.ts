/** One server of `search_bench.ts` in a separate process: `search_server.ts with|without PATH`. */
import { all, createApp, eq, integer, openDatabase, resource, table, text } from "../mod.ts";
import { sqliteSearch } from "../exports/search.ts";

const [side, path] = Deno.args;
if (path === undefined) throw new Error("Usage: search_server.ts with|without PATH");

const documents = table("documents", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  status: text().notNull(),
  title: text().notNull(),
  body: text().notNull(),
});
const app = await createApp({
  db: await openDatabase(`sqlite:${path}`),
  secret: "a secret for the benchmark",
  search: side === "with" ? sqliteSearch() : undefined,
  auth: {
    middleware: async (context, next) => {
      context.set("user", { id: "owner-3" });
      await next();
    },
  },
  resources: [
    resource(documents, {
      id: documents.id,
      auth: { read: ({ id }) => eq(documents.ownerId, id), create: () => all() },
      search: { fields: { title: { weight: 3 }, ownerId: { searchable: false } } },
    }),
  ],
});
if (side === "with") await app.reindex();
Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(port),
}, (request) => app.fetch(request));

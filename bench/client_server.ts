/** The service of the benchmarks of the client, in a separate process. Arguments: file, rows. */
import { all, createApp, integer, openDatabase, resource, table, text } from "../mod.ts";

const posts = table("posts", {
  id: integer().primaryKey(),
  title: text().notNull(),
  rank: integer().notNull(),
  version: integer().notNull().default(1),
});
const [file, rows = "3000"] = Deno.args;
const db = await openDatabase(`sqlite:${file}`);
await db.createTables([posts]);
const app = await createApp({
  db,
  secret: "a secret for the benchmark",
  auth: {
    middleware: async (context, next) => {
      context.set("user", { id: "ada" });
      await next();
    },
  },
  subscribe: { maxPerUser: 100, maxPerAddress: 100 },
  resources: [
    resource(posts, {
      id: posts.id,
      auth: { public: true, create: () => all(), update: () => all() },
      etag: { versionField: posts.version },
      capabilities: { enableBatch: true },
    }),
  ],
});
for (let start = 0; start < Number(rows); start += 100) {
  const items = Array.from({ length: 100 }, (_, n) => ({
    ...{
      id: start + n,
      title: `A title of some thirty letters ${n}`,
      rank: (start + n) * 7 % 1_000,
    },
  }));
  await app.fetch(
    new Request("http://bench/api/posts/batch", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ items }),
    }),
  );
}
Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(port),
}, (request, info) => app.fetch(request, info));

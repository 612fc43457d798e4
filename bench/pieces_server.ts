/**
 * The service of `pieces_bench.ts` in a separate process, which prints its port. `GET /piece`
 * returns the longest task of the event loop since the last call, in milliseconds of processor
 * time.
 */
import process from "node:process";
import {
  all,
  createApp,
  eq,
  integer,
  openDatabase,
  procedure,
  resource,
  table,
  text,
} from "../mod.ts";
import { sqliteSearch } from "../exports/search.ts";
import { z } from "zod";

const authors = table("authors", { id: integer().primaryKey(), name: text().notNull() });
const notes = table("notes", {
  id: integer().primaryKey(),
  authorId: integer().notNull().as("author_id").references(() => authors.id),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
  body: text(),
});
const db = await openDatabase("sqlite::memory:");
await db.createTables([authors, notes]);
const rows = Array.from({ length: 2_000 }, (_, at) => {
  const id = at + 1;
  return `(${id}, ${id % 50 + 1}, 'ada', 'note ${id}', '${"word ".repeat(20)}')`;
});
const names = Array.from({ length: 50 }, (_, at) => `(${at + 1}, 'author ${at}')`);
for (const text of [`INSERT INTO authors VALUES ${names}`, `INSERT INTO notes VALUES ${rows}`]) {
  await db.driver.query({ text, values: [] });
}
const open = {
  read: () => all(),
  subscribe: () => all(),
  create: () => all(),
  update: () => all(),
  delete: () => all(),
};
const app = await createApp({
  db,
  secret: "a secret for the benchmark",
  search: sqliteSearch(),
  abuseProtection: { pow: { secret: "a secret for the benchmark" } },
  auth: {
    middleware: async (context, next) => {
      context.set("user", { id: "ada" });
      await next();
    },
  },
  resources: [
    resource(authors, { id: authors.id, auth: open, autoRelations: true }),
    resource(notes, {
      id: notes.id,
      auth: { ...open, read: ({ id }) => eq(notes.ownerId, id) },
      autoRelations: true,
      capabilities: { enableImport: true, enableAggregations: true },
      procedures: {
        echo: procedure({
          input: z.object({ items: z.array(z.object({ a: z.string() })) }),
          output: z.object({ count: z.int() }),
          handler: (_context, { items }) => ({ count: items.length }),
        }),
      },
    }),
  ],
});

let last = cpuMs();
let longest = 0;
look();
Deno.serve({
  port: 0,
  hostname: "127.0.0.1",
  onListen: ({ port }) => console.log(port),
}, (request) => {
  if (!request.url.endsWith("/piece")) return app.fetch(request);
  const found = longest;
  longest = 0;
  return new Response(`${found}`);
});

/** Called once in each turn of the event loop. */
function look(): void {
  const now = cpuMs();
  longest = Math.max(longest, now - last);
  last = now;
  setImmediate(look);
}

/** Returns the processor time of this thread. Some kernels count in steps of ten milliseconds. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

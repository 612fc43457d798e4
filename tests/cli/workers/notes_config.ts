/** The configuration of the tests of several workers: NOTES_DB and NOTES_KV name what they share. */
import {
  all,
  integer,
  openDatabase,
  resource,
  type ServeConfig,
  table,
  text,
} from "../../../mod.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  version: integer().notNull().default(1),
});
const puzzles = table("puzzles", { id: integer().primaryKey() });
const limited = table("limited", { id: integer().primaryKey() });

const db = await openDatabase(Deno.env.get("NOTES_DB") ?? "sqlite::memory:");
await db.createTables([notes, puzzles, limited]);

export const config: ServeConfig = {
  db,
  kv: Deno.env.get("NOTES_KV"),
  drainMs: 100,
  observability: { metrics: { authorize: () => true } },
  abuseProtection: {
    budget: { classes: { authenticated: { capacity: 20, refillPerMinute: 0 } } },
  },
  auth: {
    middleware: async (context, next) => {
      const id = context.req.header("x-user");
      if (id !== undefined) context.set("user", { id });
      await next();
      context.header("x-worker", String(Deno.pid));
    },
  },
  resources: [
    resource(notes, {
      id: notes.id,
      auth: { public: { read: true, subscribe: true }, create: () => all() },
      etag: { versionField: notes.version },
    }),
    resource(puzzles, {
      id: puzzles.id,
      auth: { public: { read: true } },
      pow: { difficulty: 8 },
    }),
    resource(limited, {
      id: limited.id,
      auth: { public: { read: true } },
      rateLimit: { windowMs: 3_600_000, maxRequests: 2 },
    }),
  ],
};

export default config;

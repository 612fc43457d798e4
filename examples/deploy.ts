/**
 * A whole service for Deno Deploy: notes that all users may read, and only their owners write.
 *
 * 1. Assign a Deno KV database to the app. An app has one database of the platform; the Postgres is
 *    another provider's, and its URL a secret of the app, `DATABASE_URL`.
 * 2. Add the secrets `SERVICE_SECRET` and `JWT_SECRET`, of 16 characters or more each.
 * 3. Deploy with this file as the entry point.
 *
 * It is the same program on a machine of your own, with a KV that Deno keeps there:
 *
 *     DATABASE_URL=postgres://… SERVICE_SECRET=… JWT_SECRET=… deno serve -A examples/deploy.ts
 *
 *     curl http://127.0.0.1:8000/api/notes
 *     # {"items":[],"nextCursor":null,"hasMore":false}
 *     curl http://127.0.0.1:8000/api/notes -H 'Authorization: Bearer …' --json '{"title":"Tea"}'
 *     # {…"status":401,…}
 */
import { createApp, eq, openDatabase, resource, table } from "@svc/resource-api";
import { text, timestamp, type User, uuid } from "@svc/resource-api";
import { jwtAuth } from "@svc/resource-api/auth";
// Imported by name, not found by the URL: a host may have no files to search.
import { openPostgres } from "@svc/resource-api/postgres";

const notes = table("notes", {
  id: uuid().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text({ maxLength: 200 }).notNull(),
  createdAt: timestamp().notNull().as("created_at"),
});

// Many instances share one Postgres, so each of them has few connections.
const postgres = await openPostgres(required("DATABASE_URL"), { maxConnections: 3 });
const db = await openDatabase(postgres);
await db.createTables([notes]);

const own = (user: User) => eq(notes.ownerId, user.id);

const app = await createApp({
  db,
  kv: await Deno.openKv(), // the app's KV on the platform: shared by all instances
  // Tokens that your login has signed with it.
  auth: { use: [jwtAuth({ secret: required("JWT_SECRET") })] },
  resources: [
    resource(notes, {
      id: notes.id,
      auth: { public: true, create: own, update: own, delete: own },
      generatedFields: [notes.id, notes.ownerId, notes.createdAt],
    }),
  ],
});

// An idle instance is stopped, and its timers with it: the platform starts one for this.
// If the upkeep fails, the platform tries it again after these times, in milliseconds.
const backoffSchedule = [1_000, 10_000, 60_000];
Deno.cron("upkeep", "*/15 * * * *", { backoffSchedule }, () => app.upkeep());

// Before the platform ends an instance, it sends SIGINT and waits for five seconds.
Deno.addSignalListener("SIGINT", () => {
  app.drain(3_000); // the clients of live streams resume at another instance
  setTimeout(() => app.close().finally(() => Deno.exit()), 4_000);
});

export default { fetch: app.fetch };

function required(name: string): string {
  const value = Deno.env.get(name);
  if (value === undefined) throw new Error(`Set ${name} in the environment of the app`);
  return value;
}

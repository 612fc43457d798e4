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

const db = await openDatabase(await openPostgres(required("DATABASE_URL")));
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
Deno.cron("upkeep", "*/15 * * * *", () => app.upkeep());

export default { fetch: app.fetch };

function required(name: string): string {
  const value = Deno.env.get(name);
  if (value === undefined) throw new Error(`Set ${name} in the environment of the app`);
  return value;
}

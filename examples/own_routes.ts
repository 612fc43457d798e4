/**
 * Routes of your own beside those of the resources, and the whole in a Hono app that was there.
 *
 *     deno serve -A examples/own_routes.ts
 *
 *     curl http://127.0.0.1:8000/api/notes -H 'x-user: ada' --json '{"title":"Buy tea"}'
 *     # {"id":1,"ownerId":"ada","title":"Buy tea"}
 *     curl http://127.0.0.1:8000/api/summary -H 'x-user: ada'
 *     # {"user":"ada","notes":1}
 *     curl http://127.0.0.1:8000/api/summary
 *     # {…"status":401,"detail":"Sign in first",…}
 *     curl http://127.0.0.1:8000/about
 *     # Notes, served by resource-api
 */
import { Hono } from "@hono/hono";
import { requestId } from "@hono/hono/request-id";
import {
  createApp,
  eq,
  integer,
  openDatabase,
  Problem,
  resource,
  table,
  text,
  type User,
} from "@svc/resource-api";

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
});
const db = await openDatabase("sqlite::memory:");
await db.createTables([notes]);

const own = (user: User) => eq(notes.ownerId, user.id);

const app = await createApp({
  db,
  middleware: [requestId()], // any middleware of Hono
  auth: {
    // A stand-in: a real service checks a session or a token here.
    middleware: async (c, next) => {
      const id = c.req.header("x-user");
      if (id !== undefined) c.set("user", { id });
      await next();
    },
  },
  resources: [
    resource(notes, {
      id: notes.id,
      auth: { read: own, create: own },
      generatedFields: [notes.ownerId],
    }),
  ],
});

// It has passed the middleware, and knows the user. What it throws is answered like any problem.
app.hono.get("/api/summary", async (c) => {
  const user = c.get("user");
  if (!user) throw new Problem("unauthorized", "Sign in first");
  const { rows: [row] } = await db.sql<{ count: number }>`
    SELECT count(*) AS count FROM ${notes} WHERE ${notes.ownerId} = ${user.id}`;
  return c.json({ user: user.id, notes: row?.count });
});

const site = new Hono();
site.get("/about", (c) => c.text("Notes, served by resource-api"));
site.route("/", app.hono);

export default { fetch: site.fetch };

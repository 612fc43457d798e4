/**
 * Accounts by better-auth (https://better-auth.com) in place of those of this package: its routes
 * below /api/auth, its sessions as the user of every resource.
 *
 *     BETTER_AUTH_SECRET=… deno run -A examples/better_auth.ts
 *
 *     curl http://127.0.0.1:8000/api/auth/sign-up/email -c cookies \
 *       --json '{"email":"ada@example.com","name":"Ada","password":"a long enough one"}'
 *     # {"token":…"email":"ada@example.com"…}
 *     curl http://127.0.0.1:8000/api/notes -b cookies --json '{"title":"Buy tea"}'
 *     # {"id":1,"ownerId":"…","title":"Buy tea"}
 *     curl http://127.0.0.1:8000/api/notes -b cookies
 *     # {"items":[{"id":1,…}],"nextCursor":null,"hasMore":false}
 *     curl http://127.0.0.1:8000/api/notes
 *     # {…"status":401,…}
 */
import { DatabaseSync } from "node:sqlite";
import { Hono } from "@hono/hono";
import { csrf } from "@hono/hono/csrf";
import { betterAuth } from "npm:better-auth@^1.7.25";
import { getMigrations } from "npm:better-auth@^1.7.25/db/migration";
import {
  eq,
  integer,
  openDatabase,
  resource,
  serve,
  table,
  text,
  type User,
} from "@svc/resource-api";

const options = {
  baseURL: "http://127.0.0.1:8000",
  // Beside the file of the resources, because two libraries of SQLite must not share one.
  database: new DatabaseSync("better_auth.db"),
  emailAndPassword: { enabled: true },
} as const;
const auth = betterAuth(options);
await (await getMigrations(options)).runMigrations();

const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
});
const db = await openDatabase("sqlite:notes.db");
await db.createTables([notes]);

const own = (user: User) => eq(notes.ownerId, user.id);

await serve({
  db,
  auth: {
    routes: new Hono().on(["GET", "POST"], "/*", (c) => auth.handler(c.req.raw)),
    middleware: async (c, next) => {
      const session = await auth.api.getSession({ headers: c.req.raw.headers });
      if (session !== null) c.set("user", { id: session.user.id, name: session.user.name });
      await next();
    },
  },
  // Its sessions are cookies: a write must come from a page of this service.
  middleware: [csrf()],
  resources: [
    resource(notes, {
      id: notes.id,
      auth: { read: own, create: own, update: own, delete: own },
      generatedFields: [notes.ownerId],
    }),
  ],
});

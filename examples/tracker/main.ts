/**
 * A tracker of issues over eight tables: relations, scopes along them, hooks, a procedure.
 *
 *     deno run -A examples/tracker/main.ts
 *
 * It is the same on Postgres by the URL below, and with the tables of Drizzle by the import: they
 * are in `drizzle_sqlite.ts` and `drizzle_postgres.ts`, and created by the migrations of Drizzle.
 * `tests/examples/tracker_test.ts` sends the same requests to all four.
 */
import { openDatabase, serve } from "@svc/resource-api";
import { trackerService } from "./service.ts";
import * as tables from "./tables.ts";

const db = await openDatabase("sqlite::memory:"); // or postgres://…
await db.createTables(Object.values(tables));

await serve({
  db,
  auth: {
    // A stand-in: a real service checks a session or a token here.
    middleware: async (context, next) => {
      const id = context.req.header("x-user");
      if (id !== undefined) context.set("user", { id });
      await next();
    },
  },
  ...trackerService(tables),
});

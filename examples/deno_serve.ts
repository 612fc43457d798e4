/**
 * For hosts with a listener of their own, which ask a module for its `fetch`.
 *
 *     deno serve -A examples/deno_serve.ts
 *
 *     curl http://127.0.0.1:8000/api/cities
 *     # {"items":[],"nextCursor":null,"hasMore":false}
 */
import { createApp, integer, openDatabase, resource, table, text } from "@svc/resource-api";

const cities = table("cities", { id: integer().primaryKey(), name: text().notNull() });
const db = await openDatabase("sqlite::memory:");
await db.createTables([cities]);

const app = await createApp({
  db,
  resources: [resource(cities, { id: cities.id, auth: { public: { read: true } } })],
});

export default { fetch: app.fetch };

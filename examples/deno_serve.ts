/** For hosts with their own listener: `deno serve -A examples/deno_serve.ts`, Deno Deploy. */
import { createApp, integer, openDatabase, resource, table, text } from "@svc/resource-api";

const cities = table("cities", { id: integer().primaryKey(), name: text().notNull() });
const db = await openDatabase("sqlite::memory:");
await db.createTables([cities]);

const app = await createApp({
  db,
  resources: [resource(cities, { id: cities.id, auth: { public: { read: true } } })],
});

export default { fetch: app.fetch };

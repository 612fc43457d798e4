/**
 * A configuration for the command line. Without `auth` every user is anonymous, and may only read.
 *
 *     deno run -A cli.ts --config examples/service.config.ts
 *
 *     curl http://127.0.0.1:8080/api/cities/count
 *     # {"count":0}
 */
import { integer, openDatabase, resource, table, text } from "@svc/resource-api";
import type { ServiceConfig } from "@svc/resource-api";

const cities = table("cities", {
  id: integer().primaryKey(),
  name: text().notNull().unique(),
  population: integer(),
});

const db = await openDatabase("sqlite::memory:");
await db.createTables([cities]);

const config: ServiceConfig = {
  port: 8080,
  db,
  resources: [
    resource(cities, { id: cities.id, auth: { public: { read: true } } }),
  ],
};

export default config;

import { createApp, integer, openDatabase, resource, table, text } from "@svc/resource-api";
import { openPostgres } from "@svc/resource-api/postgres";
const notes = table("notes", { id: integer().primaryKey(), name: text().notNull() });
const db = await openDatabase(await openPostgres(Deno.env.get("DATABASE_URL")!));
await db.createTables([notes]);
const kv = await Deno.openKv();
await kv.set(["a"], 1);
const app = await createApp({
  db,
  kv,
  resources: [resource(notes, { id: notes.id, auth: { public: true } })],
});
Deno.cron("upkeep", "*/5 * * * *", () => {});
export default { fetch: app.fetch };

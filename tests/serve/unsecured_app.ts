/** For `deno serve`: an app without a secret, whose random one is in the memory of its worker. */
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { integer } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";

const notes = table("notes", { id: integer().primaryKey() });
const db = await openDatabase("sqlite::memory:");
await db.createTables([notes]);
await db.driver.query({ text: "INSERT INTO notes (id) VALUES (1), (2)", values: [] });
export default await createApp({
  db,
  resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
});

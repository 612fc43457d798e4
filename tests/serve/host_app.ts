/** For `deno serve`: one empty table with public reads. */
import { createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";

const notes = table("notes", { id: text().primaryKey() });
const db = await openDatabase("sqlite::memory:");
await db.createTables([notes]);
export default await createApp({
  db,
  secret: "sixteen or more characters",
  resources: [resource(notes, { id: notes.id, auth: { public: { read: true } } })],
});

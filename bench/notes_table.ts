import { integer, table, text, timestamp } from "../mod.ts";

/** The table of `notes_database.ts`, as declared for the service. */
export const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
  body: text().notNull().default(""),
  status: text({ enum: ["draft", "published"] }).notNull().default("draft"),
  rank: integer(),
  version: integer().notNull().default(1),
  createdAt: timestamp().notNull().default(() => new Date().toISOString()).as("created_at"),
});

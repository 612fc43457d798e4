import {
  bigint,
  boolean,
  decimal,
  integer,
  real,
  text,
} from "../../../../src/schema/column_builder.ts";
import { table } from "../../../../src/schema/table.ts";
import type { Database } from "../../../../src/db/database.ts";

/** What decides about the rows of others. */
export const projects = table("projects", {
  id: integer().primaryKey(),
  ownerId: text().as("owner_id"),
  name: text(),
});

/** The rows that most clients follow. */
export const items = table("items", {
  id: integer().primaryKey(),
  projectId: integer().as("project_id"),
  ownerId: text().as("owner_id"),
  title: text(),
  score: real(),
  size: integer(),
  price: decimal({ precision: 12, scale: 2 }),
  flag: boolean(),
  far: bigint(),
  /** Unique: another row may have to go for it. */
  slot: integer().unique(),
  secret: text(),
});

/** What stands under items, and goes with them. */
export const notes = table("notes", {
  id: integer().primaryKey(),
  itemId: integer().as("item_id"),
  visibleTo: text().as("visible_to"),
  body: text(),
});

/** What items are linked to. */
export const tags = table("tags", {
  id: integer().primaryKey(),
  visibleTo: text().as("visible_to"),
  label: text(),
});

/** The links between both. */
export const itemTags = table("item_tags", {
  id: integer().primaryKey(),
  itemId: integer().as("item_id"),
  tagId: integer().as("tag_id"),
  visibleTo: text().as("visible_to"),
});

/** Every table of a world. */
export const placeNames = ["projects", "items", "notes", "tags", "itemTags"] as const;
/** Its name in this folder, and below `/api/`. */
export type Place = typeof placeNames[number];

/** The columns that may be read, by their names on the wire and in the database. */
export const readableColumns: Readonly<Record<Place, readonly (readonly [string, string])[]>> = {
  projects: [["id", "id"], ["ownerId", "owner_id"], ["name", "name"]],
  items: [
    ...[["id", "id"], ["projectId", "project_id"], ["ownerId", "owner_id"], ["title", "title"]],
    ...[["score", "score"], ["size", "size"], ["price", "price"], ["flag", "flag"]],
    ...[["far", "far"], ["slot", "slot"]],
    // Each of them is a pair.
  ] as [string, string][],
  notes: [["id", "id"], ["itemId", "item_id"], ["visibleTo", "visible_to"], ["body", "body"]],
  tags: [["id", "id"], ["visibleTo", "visible_to"], ["label", "label"]],
  itemTags: [["id", "id"], ["itemId", "item_id"], ["tagId", "tag_id"], ["visibleTo", "visible_to"]],
};

/** What a table is called in the database. */
export const tableNames: Readonly<Record<Place, string>> = {
  projects: "projects",
  items: "items",
  notes: "notes",
  tags: "tags",
  itemTags: "item_tags",
};

/** Makes the tables; where `cascades`, notes go with their items, which only a foreign key does. */
export async function createTables(db: Database, cascades: boolean): Promise<void> {
  await db.createTables([projects, items, tags, itemTags]);
  const number = db.dialect.engine === "sqlite" ? "INTEGER" : "bigint";
  const texts = db.dialect.engine === "sqlite" ? "TEXT" : 'TEXT COLLATE "C"';
  const reference = cascades ? " REFERENCES items (id) ON DELETE CASCADE ON UPDATE CASCADE" : "";
  await db.driver.query({
    text: `CREATE TABLE notes (
      id ${number} PRIMARY KEY,
      item_id ${number}${reference},
      visible_to ${texts},
      body ${texts}
    )`,
    values: [],
  });
}

/**
 * The tables. `deno task dev` creates each table that has a resource in `service.config.ts`, and adds
 * a new column when you save this file.
 */
import { createdAt, index, integer, table, text } from "@svc/resource-api";

export const lists = table("lists", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text({ minLength: 1, maxLength: 100 }).notNull(),
}, (t) => [index(t.ownerId)]);

export const tasks = table("tasks", {
  id: integer().primaryKey(),
  listId: integer().notNull().as("list_id").references(() => lists.id, { onDelete: "cascade" }),
  title: text({ minLength: 1, maxLength: 200 }).notNull(),
  status: text({ enum: ["open", "done"] }).notNull().default("open"),
  version: integer().notNull().default(1),
  createdAt: createdAt().as("created_at"),
}, (t) => [index(t.listId)]);

import { mistakes } from "./mistakes.ts";

const shared = `
import { integer, openDatabase, table, text, timestamp } from "@svc/resource-api";
export const users = table("users", {
  id: integer().primaryKey(),
  name: text(),
  deletedAt: timestamp(),
});
export const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  owner: text().notNull(),
  status: text({ enum: ["draft", "done"] }).notNull().default("draft"),
  version: integer().notNull().default(1),
  authorId: integer().references(() => users.id),
  deletedAt: timestamp(),
});
export const db = await openDatabase("sqlite::memory:");
`;

const imports =
  'import { and, createApp, eq, inList, integer, like, openDatabase, procedure, resource, serve, table, text } from "@svc/resource-api"; ' +
  'import { z } from "zod"; import { db, notes, users } from "./shared.ts";\n';

/** A program of all snippets, each in its own file, with the mistakes or with the corrections. */
export function mistakeProgram(text: "$1" | "$2"): Readonly<Record<string, string>> {
  const files = mistakes.map(([, code], index) => [
    `mistake${index}.ts`,
    imports + code.replaceAll(/«([^»]*)»«([^»]*)»/g, text) + "\n",
  ]);
  return { ...Object.fromEntries(files), "shared.ts": shared };
}

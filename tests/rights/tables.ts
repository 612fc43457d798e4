import { boolean, integer, table, text } from "../../mod.ts";

export const orgs = table("orgs", {
  id: integer().primaryKey(),
  name: text().notNull(),
  ownerId: text().notNull().as("owner_id"),
  frozen: boolean(),
});
export const teams = table("teams", {
  id: integer().primaryKey(),
  name: text().notNull(),
  orgId: integer().as("org_id"),
});
export const members = table("members", {
  id: integer().primaryKey(),
  teamId: integer().notNull().as("team_id"),
  userId: text().notNull().as("user_id"),
  role: text(),
});
export const projects = table("projects", {
  id: integer().primaryKey(),
  name: text().notNull(),
  teamId: integer().as("team_id"),
  isPublic: boolean().as("is_public"),
  budget: integer(),
});
export const blocks = table("blocks", {
  id: integer().primaryKey(),
  projectId: integer().notNull().as("project_id"),
  userId: text().notNull().as("user_id"),
});
export const tasks = table("tasks", {
  id: integer().primaryKey(),
  projectId: integer().as("project_id"),
  authorId: text().notNull().as("author_id"),
  title: text().notNull(),
  status: text(),
  points: integer(),
  secret: text(),
  version: integer().notNull().default(1),
});
export const comments = table("comments", {
  id: integer().primaryKey(),
  taskId: integer().as("task_id"),
  authorId: text().notNull().as("author_id"),
  body: text().notNull(),
});
export const shares = table("shares", {
  id: integer().primaryKey(),
  taskId: integer().notNull().as("task_id"),
  userId: text().notNull().as("user_id"),
});
export const labels = table("labels", {
  id: integer().primaryKey(),
  name: text().notNull(),
});
export const taggings = table("taggings", {
  taskId: integer().notNull().primaryKey().as("task_id"),
  labelId: integer().notNull().primaryKey().as("label_id"),
  byId: text().as("by_id"),
});
/** The hook of a row runs the work with the name in `what`. */
export const probes = table("probes", {
  id: integer().primaryKey(),
  what: text().notNull(),
});

export const tables = {
  ...{ orgs, teams, members, projects, blocks, tasks, comments, shares, labels, taggings },
} as const;
export type TableName = keyof typeof tables;
export const tableNames: readonly TableName[] = [
  ...(["orgs", "teams", "members", "projects", "blocks"] as const),
  ...(["tasks", "comments", "shares", "labels", "taggings"] as const),
];

/**
 * The tables of the tracker, declared with Drizzle for SQLite. A project of its own imports
 * `drizzle-orm/sqlite-core`; this one has two lines of Drizzle side by side.
 */
import { integer, primaryKey, sqliteTable, text, unique } from "drizzle-1.0/sqlite-core";

export const users = sqliteTable("users", {
  id: text().primaryKey(),
  name: text().notNull(),
  email: text().notNull().unique(),
});

export const teams = sqliteTable("teams", {
  id: integer().primaryKey({ autoIncrement: true }),
  name: text().notNull().unique(),
});

export const memberships = sqliteTable("memberships", {
  teamId: integer("team_id").notNull().references(() => teams.id),
  userId: text("user_id").notNull().references(() => users.id),
  role: text({ enum: ["admin", "member"] }).notNull().default("member"),
}, (memberships) => [primaryKey({ columns: [memberships.teamId, memberships.userId] })]);

export const projects = sqliteTable("projects", {
  id: integer().primaryKey({ autoIncrement: true }),
  teamId: integer("team_id").notNull().references(() => teams.id),
  key: text({ length: 8 }).notNull(),
  name: text().notNull(),
}, (projects) => [unique().on(projects.teamId, projects.key)]);

export const issues = sqliteTable("issues", {
  id: integer().primaryKey({ autoIncrement: true }),
  projectId: integer("project_id").notNull().references(() => projects.id),
  title: text({ length: 200 }).notNull(),
  state: text({ enum: ["open", "closed"] }).notNull().default("open"),
  assigneeId: text("assignee_id").references(() => users.id),
  comments: integer().notNull().default(0),
  version: integer().notNull().default(1),
  createdAt: integer("created_at", { mode: "timestamp_ms" }).notNull()
    .$defaultFn(() => new Date()),
});

export const comments = sqliteTable("comments", {
  id: integer().primaryKey({ autoIncrement: true }),
  issueId: integer("issue_id").notNull().references(() => issues.id),
  authorId: text("author_id").notNull(),
  body: text().notNull(),
});

export const labels = sqliteTable("labels", {
  id: integer().primaryKey({ autoIncrement: true }),
  name: text().notNull().unique(),
  colour: text().notNull().default("grey"),
});

export const issueLabels = sqliteTable("issue_labels", {
  issueId: integer("issue_id").notNull().references(() => issues.id),
  labelId: integer("label_id").notNull().references(() => labels.id),
}, (issueLabels) => [primaryKey({ columns: [issueLabels.issueId, issueLabels.labelId] })]);

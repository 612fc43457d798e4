/** The tables of the tracker, declared with `table()`: the same on SQLite and Postgres. */
import { createdAt, integer, table, text, unique } from "@svc/resource-api";

export const users = table("users", {
  id: text().primaryKey(),
  name: text().notNull(),
  email: text({ email: true }).notNull().unique(),
});

export const teams = table("teams", {
  id: integer().primaryKey(),
  name: text().notNull().unique(),
});

export const memberships = table("memberships", {
  teamId: integer().primaryKey().as("team_id").references(() => teams.id),
  userId: text().primaryKey().as("user_id").references(() => users.id),
  role: text({ enum: ["admin", "member"] }).notNull().default("member"),
});

export const projects = table("projects", {
  id: integer().primaryKey(),
  teamId: integer().notNull().as("team_id").references(() => teams.id),
  key: text({ maxLength: 8 }).notNull(),
  name: text().notNull(),
}, (projects) => [unique(projects.teamId, projects.key)]);

export const issues = table("issues", {
  id: integer().primaryKey(),
  projectId: integer().notNull().as("project_id").references(() => projects.id),
  title: text({ maxLength: 200 }).notNull(),
  state: text({ enum: ["open", "closed"] }).notNull().default("open"),
  assigneeId: text().as("assignee_id").references(() => users.id),
  comments: integer().notNull().default(0),
  version: integer().notNull().default(1),
  createdAt: createdAt().as("created_at"),
});

export const comments = table("comments", {
  id: integer().primaryKey(),
  issueId: integer().notNull().as("issue_id").references(() => issues.id),
  authorId: text().notNull().as("author_id"),
  body: text().notNull(),
});

export const labels = table("labels", {
  id: integer().primaryKey(),
  name: text().notNull().unique(),
  colour: text().notNull().default("grey"),
});

export const issueLabels = table("issue_labels", {
  issueId: integer().primaryKey().as("issue_id").references(() => issues.id),
  labelId: integer().primaryKey().as("label_id").references(() => labels.id),
});

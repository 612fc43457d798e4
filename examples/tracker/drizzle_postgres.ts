/**
 * The tables of the tracker, declared with Drizzle for Postgres. A project of its own imports
 * `drizzle-orm/pg-core`; this one has two lines of Drizzle side by side.
 */
import {
  integer,
  pgTable,
  primaryKey,
  serial,
  text,
  timestamp,
  unique,
  varchar,
} from "drizzle-1.0/pg-core";

export const users = pgTable("users", {
  id: text().primaryKey(),
  name: text().notNull(),
  email: text().notNull().unique(),
});

export const teams = pgTable("teams", {
  id: serial().primaryKey(),
  name: text().notNull().unique(),
});

export const memberships = pgTable("memberships", {
  teamId: integer("team_id").notNull().references(() => teams.id),
  userId: text("user_id").notNull().references(() => users.id),
  role: text({ enum: ["admin", "member"] }).notNull().default("member"),
}, (memberships) => [primaryKey({ columns: [memberships.teamId, memberships.userId] })]);

export const projects = pgTable("projects", {
  id: serial().primaryKey(),
  teamId: integer("team_id").notNull().references(() => teams.id),
  key: varchar({ length: 8 }).notNull(),
  name: text().notNull(),
}, (projects) => [unique().on(projects.teamId, projects.key)]);

export const issues = pgTable("issues", {
  id: serial().primaryKey(),
  projectId: integer("project_id").notNull().references(() => projects.id),
  title: varchar({ length: 200 }).notNull(),
  state: text({ enum: ["open", "closed"] }).notNull().default("open"),
  assigneeId: text("assignee_id").references(() => users.id),
  comments: integer().notNull().default(0),
  version: integer().notNull().default(1),
  createdAt: timestamp("created_at", { withTimezone: true }).notNull()
    .$defaultFn(() => new Date()),
});

export const comments = pgTable("comments", {
  id: serial().primaryKey(),
  issueId: integer("issue_id").notNull().references(() => issues.id),
  authorId: text("author_id").notNull(),
  body: text().notNull(),
});

export const labels = pgTable("labels", {
  id: serial().primaryKey(),
  name: text().notNull().unique(),
  colour: text().notNull().default("grey"),
});

export const issueLabels = pgTable("issue_labels", {
  issueId: integer("issue_id").notNull().references(() => issues.id),
  labelId: integer("label_id").notNull().references(() => labels.id),
}, (issueLabels) => [primaryKey({ columns: [issueLabels.issueId, issueLabels.labelId] })]);

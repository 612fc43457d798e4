import {
  boolean,
  type ColumnBuilder,
  date,
  decimal,
  integer,
  json,
  real,
  text,
  timestamp,
  uuid,
} from "../../../src/schema/column_builder.ts";
import { table } from "../../../src/schema/table.ts";
import type { TableInfo } from "../../../src/schema/table_info.ts";
import {
  type ColumnLike,
  isColumn,
  tableInfoOf,
  type TableLike,
} from "../../../src/schema/table_like.ts";
import { check, formerly, index, unique } from "../../../src/compile/table_parts.ts";
import { eq } from "../../../src/filter/builders.ts";
import type { Dialect } from "../../../src/sql/dialect.ts";

/** The schema of a tracker of issues in ten older versions, from 1, and the newest. */
export const newest = 11;

/** What has to be allowed to come from a version to the newest one. */
export const allowDrop: readonly string[] = [
  ...["issues.priority", "issues.legacy", "issues.status", "people.nick", "wiki"],
  ...["issues.issues_team_idx"],
];

type Columns = Record<string, ColumnBuilder<unknown, boolean, boolean, boolean>>;

/** The tables as they were declared in a version. */
export function trackerTables(version: number): readonly TableInfo[] {
  const since = (first: number, columns: Columns): Columns => version >= first ? columns : {};
  const until = (last: number, columns: Columns): Columns => version <= last ? columns : {};
  const teams = table("teams", {
    id: integer().primaryKey(),
    name: version >= 7 ? text().notNull().unique() : text(),
    ...since(3, { plan: text({ enum: ["free", "paid"] }).notNull().default("free") }),
  });
  const people = table("people", {
    id: uuid().primaryKey(),
    ...until(5, { name: text().notNull() }),
    ...since(6, { fullName: renamed(text().notNull().as("full_name"), version, "name") }),
    ...until(8, { nick: text() }),
    ...since(9, { email: text().unique(), isActive: boolean().notNull().default(true) }),
  });
  const issues = table("issues", {
    id: integer().primaryKey(),
    title: version >= 2 ? text().notNull() : text(),
    body: text(),
    ...until(4, { legacy: text().notNull() }),
    status: version >= 10
      ? text({ enum: ["open", "doing", "done"] }).notNull().default("open")
      : version >= 4
      ? text({ enum: ["open", "done", "lost"] })
      : text(),
    priority: version >= 8 ? integer({ min: 1, max: version }).notNull().default(3) : text(),
    estimate: decimal({ precision: version >= 5 ? 12 : 8, scale: 2 }),
    ...since(2, {
      team: version >= 6
        ? integer().references(
          () => column(teams, "id"),
          version >= 9 ? { onDelete: "cascade" } : {},
        )
        : integer(),
    }),
    ...since(11, { dueOn: date().as("due_on"), weight: real().notNull().default(1) }),
    ...since(9, { labels: json<string[]>().notNull().default([]) }),
    ...since(10, { doubled: integer().generatedAs("priority * 2") }),
    ...since(8, { rank: integer().defaultSql("1 + 2") }),
  }, (issues) => [
    ...(version >= 3
      ? [index(column(issues, "status"), column(issues, "id")).as("by_status")]
      : []),
    ...(version >= 5 ? [check("title <> '' AND length(title) < 100")] : []),
    ...(version >= 8 ? [unique(column(issues, "team"), column(issues, "title"))] : []),
    ...(version >= 10
      ? [unique(column(issues, "title")).where(eq(column(issues, "status"), "doing"))]
      : []),
  ]);
  const comments = table(version >= 7 ? "comments" : "notes", {
    issue: integer().primaryKey().references(() => column(issues, "id")),
    number: integer().primaryKey(),
    words: text().notNull(),
    ...since(10, { writtenAt: timestamp().as("written_at") }),
  }, () => version === newest ? [formerly("notes")] : []);
  const log = table("issue log", {
    id: integer().primaryKey(),
    issue: version >= 3 ? integer().notNull().references(() => column(issues, "id")) : integer(),
  });
  return [teams, people, issues, comments, ...(version >= 2 ? [log] : [])].map(tableInfoOf);
}

/** The compiler does not know the columns of tables that depend on a version. */
function column(of: TableLike<unknown, unknown>, name: string): ColumnLike<unknown> {
  const found: unknown = new Map(Object.entries(of)).get(name);
  if (isColumn(found)) return found;
  throw new Error(`There is no column ${name}`);
}

function renamed(column: Columns[string], version: number, from: string): Columns[string] {
  return version === newest ? column.was(from) : column;
}

const person = "018f2f6e-7c7a-7000-8000-0000000000";

/** Statements that fill the tables of a version. */
export function trackerRows(version: number, dialect: Dialect): readonly string[] {
  const values: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>> = {
    teams: [{ id: "1", name: "'Red'", plan: "'paid'" }, { id: "2", name: "'Blue'" }],
    people: [1, 2].map((number) => ({
      id: `'${person}0${number}'`,
      name: `'Person ${number}'`,
      full_name: `'Person ${number}'`,
      nick: "'nick'",
      email: `'person${number}@example.com'`,
    })),
    issues: [1, 2, 3, 4].map((number) => ({
      id: String(number * 10),
      title: `'It''s number ${number}'`,
      body: number === 1 ? "NULL" : "'body'",
      legacy: "'old'",
      status: ["'open'", "'done'", "'lost'", "'done'"][number - 1] ?? "",
      priority: version >= 8 ? String(number) : `'${number}'`,
      estimate: `${number}.25`,
      team: number === 4 ? "NULL" : "1",
    })),
    comments: comments(),
    notes: comments(),
    "issue log": [{ id: "5", issue: "20" }],
  };
  return trackerTables(version).flatMap(({ name, columns }) =>
    (values[name] ?? []).map((row) => {
      const written = columns.filter(({ dbName }) => row[dbName] !== undefined);
      const status = ({ dbName }: { dbName: string }) =>
        version >= 10 && dbName === "status" && row[dbName] === "'lost'" ? "'doing'" : row[dbName];
      const names = written.map(({ dbName }) => `"${dbName}"`).join(", ");
      const overriding = dialect.engine === "postgres" ? " OVERRIDING SYSTEM VALUE" : "";
      return `INSERT INTO "${name}" (${names})${overriding} VALUES (${
        written.map(status).join(", ")
      })`;
    })
  );
}

function comments(): readonly Readonly<Record<string, string>>[] {
  return [1, 2].map((number) => ({ issue: "10", number: String(number), words: "'said'" }));
}

/** The rows of the newest version that came from an older one, as they have to be. */
export function migratedRows(version: number): Readonly<Record<string, readonly unknown[]>> {
  const status = version >= 10
    ? ["open", "done", "doing", "done"]
    : ["open", "done", "open", "done"];
  return {
    teams: [[1, "Red", version >= 3 ? "paid" : "free"], [2, "Blue", "free"]],
    people: [1, 2].map((number) => [`${person}0${number}`, `Person ${number}`]),
    issues: [1, 2, 3, 4].map((number) => [
      ...[number * 10, `It's number ${number}`, number === 1 ? null : "body"],
      ...[status[number - 1], number, number + 0.25],
      version >= 2 && number !== 4 ? 1 : null,
    ]),
    comments: [[10, 1, "said"], [10, 2, "said"]],
    "issue log": version >= 2 ? [[5, 20]] : [],
  };
}

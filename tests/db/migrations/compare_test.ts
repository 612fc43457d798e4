import { assertEquals } from "@std/assert";
import { describeDifference } from "../../../src/db/migrations/compare/difference.ts";
import { findDifferences } from "../../../src/db/migrations/migrate_tables.ts";
import { openDatabase } from "../../../src/engines/open_database.ts";
import {
  bigint,
  boolean,
  bytes,
  date,
  decimal,
  integer,
  json,
  real,
  text,
  timestamp,
  uuid,
} from "../../../src/schema/column_builder.ts";
import { check, index, unique } from "../../../src/compile/table_parts.ts";
import { gt, inList, isNull, ne } from "../../../src/filter/builders.ts";
import { and, or } from "../../../src/filter/filter.ts";
import { table } from "../../../src/schema/table.ts";
import { columnInfoOf, tableInfoOf, type TableLike } from "../../../src/schema/table_like.ts";
import { testOnDialects, testOnEngines } from "../../support/http.ts";
import type { Database } from "../../../src/db/database.ts";

type Tables = readonly TableLike<unknown, unknown>[];

async function differences(db: Database, tables: Tables): Promise<readonly string[]> {
  const found = await db.driver.transaction((connection) =>
    findDifferences(connection, db.dialect, tables.map(tableInfoOf))
  );
  return found.differences.map(describeDifference);
}

const teams = table("teams", { id: integer().primaryKey(), name: text().notNull().unique() });

const kinds = table("every kind", {
  id: uuid().primaryKey(),
  number: integer().notNull().default(-3),
  large: bigint().default("9007199254740993"),
  price: decimal({ precision: 12, scale: 2 }).notNull().default("9.50"),
  free: decimal().default("-0.25"),
  weight: real().default(1.5),
  isOpen: boolean().notNull().default(true).as("is open"),
  sentAt: timestamp().default("2026-11-27T00:00:00.123456Z"),
  dueOn: date().default("2026-11-27"),
  title: text({ maxLength: 20 }).notNull().default("it's (a) :: 'test'"),
  status: text({ enum: ["draft", "it's", "(done)"] }).notNull().default("draft"),
  lone: text({ enum: ["only"] }),
  tags: json<string[]>().default(["a"]),
  scan: bytes().default("AAEC"),
  team: integer().references(() => teams.id),
});

const members = table("members", {
  team: integer().primaryKey().references(() => teams.id, {
    onDelete: "cascade",
    onUpdate: "restrict",
  }),
  user: text().primaryKey(),
  since: timestamp({ min: "2020-01-01T00:00:00Z" }),
  hours: integer({ min: 1, max: 60 }).defaultSql("1 + 2"),
  double: integer().generatedAs("hours * 2 -- twice"),
  mail: text({ minLength: 3, email: true }),
}, (members) => [
  index(members.hours, members.since),
  unique(members.user, members.since),
  unique(members.mail).where(and(isNull(members.since), ne(members.user, "it's"))),
  check(or(gt(members.hours, 0), inList(members.user, ["x", "y"]))),
  check("hours <> 7 OR (since IS NOT NULL)").as("no seven"),
]);

const all = [kinds, members, teams];

testOnEngines("the tables that createTables makes have no differences", async (engine) => {
  const db = await engine.open();
  try {
    assertEquals(
      await differences(db, all),
      ["every kind", "members", "teams"].map((name) => `${name} is missing`),
    );
    await db.createTables(all);
    assertEquals(await differences(db, all), []);
  } finally {
    await db.close();
  }
});

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull().default("new"),
  size: integer(),
  email: text().unique(),
  status: text({ enum: ["draft", "published"] }),
  team: integer().references(() => teams.id),
  extra: text(),
});

testOnDialects("each difference is named with its table and column", async (engine) => {
  const db = await engine.open();
  const [key, number] = db.dialect.engine === "sqlite"
    ? ["INTEGER PRIMARY KEY", "TEXT"]
    : ["int8 PRIMARY KEY", "text"];
  const collation = db.dialect.engine === "sqlite" ? "" : ' COLLATE "C"';
  try {
    await db.createTables([teams]);
    const existing = `CREATE TABLE notes (
      id ${key},
      title text${collation} DEFAULT 'old',
      size ${number} NOT NULL,
      email text${collation},
      status text${collation} CHECK (status IN ('draft', 'gone')),
      team ${db.dialect.columnType(columnInfoOf(teams.id))},
      old text NOT NULL,
      other text UNIQUE,
      CONSTRAINT lengths CHECK (length(title) > 3 AND size <> '')
    )`;
    await db.query({ text: existing, values: [] });
    await db.query({ text: "CREATE INDEX by_size ON notes (size, title)", values: [] });
    await db.query({ text: "CREATE INDEX by_words ON notes (lower(title))", values: [] });
    const named = (await differences(db, [notes, teams])).map((text) =>
      text.replace(/(?:TEXT|text), and declared as (?:INTEGER|bigint)/, "a text")
        .replaceAll(/::text|(?<=DEFAULT )\(|\)(?=$)/g, "")
    );
    assertEquals(named.filter((text) => !text.includes("CHECK (") && !text.includes("counting")), [
      "notes.extra is missing",
      "notes.old is not declared, and needs a value",
      "notes.other is not declared",
      "notes.title may be NULL, and is declared NOT NULL",
      "notes.title has the default 'old', and is declared with 'new'",
      "notes.size is a text",
      "notes.size is NOT NULL, and declared as nullable",
      'notes.status allows "draft", "gone", and is declared with "draft", "published"',
      "notes is missing UNIQUE (email",
      "notes is missing FOREIGN KEY (team) REFERENCES teams (id",
      "notes is missing the index notes_team_idx",
      "notes has the index by_size, which is not declared",
    ]);
    assertEquals(named.filter((text) => text.includes("CHECK (")).length, 1);
    assertEquals(
      named.filter((text) => text.includes("counting")),
      db.dialect.engine === "sqlite"
        ? []
        : ["notes.id has no values by itself, and is declared as counting up"],
    );
  } finally {
    await db.close();
  }
});

testOnDialects("the same expression in another form is no difference", async (engine) => {
  const db = await engine.open();
  const [key, collation] = db.dialect.engine === "sqlite"
    ? ["integer primary key", ""]
    : ["bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY", ' COLLATE "C"'];
  const tags = table("tags", {
    id: integer().primaryKey(),
    name: text({ enum: ["a", "b"] }).notNull().default("a"),
    lone: text({ enum: ["x"] }).unique(),
    count: integer().notNull().default(-1),
  });
  const existing = `create table tags (
      "id" ${key} not null, -- the key
      name text${collation} NOT NULL DEFAULT /* first */ ('a') CHECK(name in('b',  'a')),
      [lone] text${collation} CONSTRAINT lone CHECK ("lone" IN ('x')),
      count ${db.dialect.columnType(columnInfoOf(tags.count))} DEFAULT -1 NOT NULL
    )`;
  try {
    const quoted = db.dialect.engine === "sqlite" ? existing : existing.replace("[lone]", "lone");
    await db.query({ text: quoted, values: [] });
    await db.query({ text: "CREATE UNIQUE INDEX distinct_lone ON tags (lone)", values: [] });
    assertEquals(await differences(db, [tags]), []);
  } finally {
    await db.close();
  }
});

testOnDialects("Postgres heeds the case of names; a list may be of one text", async (engine) => {
  const db = await engine.open();
  const isFile = db.dialect.engine === "sqlite";
  const notes = table("notes", { id: integer().primaryKey(), A: text(), kind: text() });
  const [key, words] = isFile
    ? ["INTEGER PRIMARY KEY", "TEXT"]
    : ["int8 GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", 'text COLLATE "C"'];
  try {
    const existing = `CREATE TABLE notes (
      id ${key}, a ${words}, kind ${words} CHECK (kind IN ('x'))
    )`;
    await db.query({ text: existing, values: [] });
    assertEquals(await differences(db, [notes]), [
      ...(isFile ? [] : ["notes.A is missing", "notes.a is not declared"]),
      'notes.kind allows "x", and is declared with every text',
    ]);
  } finally {
    await db.close();
  }
});

testOnDialects("a view under the name of a declared table is not compared", async (engine) => {
  const db = await engine.open();
  try {
    await db.query({ text: "CREATE VIEW teams AS SELECT 1 AS id, 'x' AS name", values: [] });
    assertEquals(await differences(db, [teams]), []);
  } finally {
    await db.close();
  }
});

Deno.test("a partial index that was there when the file was opened makes no difference", async () => {
  const folder = await Deno.makeTempDir();
  const drafts = table("drafts", {
    id: integer().primaryKey(),
    title: text(),
    status: text(),
  }, (drafts) => [index(drafts.title).where(ne(drafts.status, "done"))]);
  try {
    for (const _time of ["without it", "with it"]) {
      const db = await openDatabase(`sqlite:${folder}/drafts.db`);
      await db.createTables([drafts]);
      assertEquals(await differences(db, [drafts]), []);
      await db.close();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

import { assertEquals } from "@std/assert";
import { relations } from "drizzle-0.45";
import * as olderPg from "drizzle-0.45/pg-core";
import * as olderSqlite from "drizzle-0.45/sqlite-core";
import { defineRelations } from "drizzle-1.0";
import * as newerPg from "drizzle-1.0/pg-core";
import * as newerSqlite from "drizzle-1.0/sqlite-core";
import { all, and, eq, gt, type InferApi, inList, like, resource, rsql } from "../../mod.ts";
import { drizzleRelations } from "../../exports/drizzle.ts";
import type { AnyApi, CodeApi } from "../../exports/options.ts";

/** What a row of each table below is, for hooks, computed fields and clients. */
interface Note {
  id: number;
  ownerId: string;
  status: "draft" | "done";
  at: string | null;
  big: string | null;
  scan: string | null;
  tags: string[] | null;
  version: number;
}

const olderUsers = olderSqlite.sqliteTable("users", { id: olderSqlite.text().primaryKey() });
const olderNotes = olderSqlite.sqliteTable("notes", {
  id: olderSqlite.integer().primaryKey(),
  ownerId: olderSqlite.text("owner_id").notNull().references(() => olderUsers.id),
  status: olderSqlite.text({ enum: ["draft", "done"] }).notNull().default("draft"),
  at: olderSqlite.integer({ mode: "timestamp" }),
  big: olderSqlite.numeric({ mode: "bigint" }),
  scan: olderSqlite.blob({ mode: "buffer" }),
  tags: olderSqlite.text({ mode: "json" }).$type<string[]>(),
  version: olderSqlite.integer().notNull().default(1),
});
const newerUsers = newerSqlite.sqliteTable("users", { id: newerSqlite.text().primaryKey() });
const newerNotes = newerSqlite.sqliteTable("notes", {
  id: newerSqlite.integer().primaryKey(),
  ownerId: newerSqlite.text("owner_id").notNull().references(() => newerUsers.id),
  status: newerSqlite.text({ enum: ["draft", "done"] }).notNull().default("draft"),
  at: newerSqlite.integer({ mode: "timestamp" }),
  big: newerSqlite.numeric({ mode: "bigint" }),
  scan: newerSqlite.blob({ mode: "buffer" }),
  tags: newerSqlite.text({ mode: "json" }).$type<string[]>(),
  version: newerSqlite.integer().notNull().default(1),
});
const olderPgNotes = olderPg.pgTable("notes", {
  id: olderPg.serial().primaryKey(),
  ownerId: olderPg.text("owner_id").notNull(),
  status: olderPg.pgEnum("status", ["draft", "done"])().notNull().default("draft"),
  at: olderPg.timestamp({ withTimezone: true }),
  big: olderPg.bigint({ mode: "bigint" }),
  scan: olderPg.customType<{ data: Uint8Array }>({ dataType: () => "bytea" })(),
  tags: olderPg.text().array(),
  version: olderPg.integer().notNull().default(1),
});
const newerPgNotes = newerPg.pgTable("notes", {
  id: newerPg.serial().primaryKey(),
  ownerId: newerPg.text("owner_id").notNull(),
  status: newerPg.pgEnum("status", ["draft", "done"])().notNull().default("draft"),
  at: newerPg.timestamp({ withTimezone: true }),
  big: newerPg.bigint({ mode: "bigint" }),
  scan: newerPg.bytea(),
  tags: newerPg.text().array(),
  version: newerPg.integer().notNull().default(1),
});

const olderResource = resource(olderNotes, {
  id: olderNotes.id,
  path: "memos",
  auth: {
    read: (user) =>
      and(
        eq(olderNotes.ownerId, user.id),
        gt(olderNotes.at, new Date()),
        gt(olderNotes.at, "2026-01-01"),
        eq(olderNotes.big, 5n),
        eq(olderNotes.big, "5"),
        inList(olderNotes.status, ["draft"]),
        like(olderNotes.ownerId, "a%"),
      ),
    create: (user) => rsql`ownerId==${user.id}`,
    update: () => all(),
  },
  fields: { writable: [olderNotes.status], immutable: [olderNotes.ownerId] },
  etag: { versionField: olderNotes.version, updatedAtField: olderNotes.at },
  softDelete: { field: olderNotes.at },
  generatedFields: [olderNotes.ownerId],
  relations: {
    owner: { type: "belongsTo", resource: olderUsers, foreignKey: olderNotes.ownerId },
  },
  computed: { year: (row) => row.at?.slice(0, 4) ?? "" },
  hooks: {
    onBeforeCreate: (_context, data) => ({ ...data, at: data.at ?? "2026-01-01T00:00:00Z" }),
    onAfterCreate: (_context, row) => {
      const note: Note = row;
      note.id;
    },
  },
});
const newerResource = resource(newerNotes, {
  id: newerNotes.id,
  auth: { read: (user) => and(eq(newerNotes.ownerId, user.id), gt(newerNotes.at, new Date())) },
  fields: { writable: [newerNotes.status], immutable: [newerNotes.ownerId] },
  etag: { versionField: newerNotes.version, updatedAtField: newerNotes.at },
  softDelete: { field: newerNotes.at },
  relations: {
    owner: { type: "belongsTo", resource: newerUsers, foreignKey: newerNotes.ownerId },
  },
  computed: { year: (row) => row.at?.slice(0, 4) ?? "" },
});
const olderPgResource = resource(olderPgNotes, {
  id: olderPgNotes.id,
  auth: { read: (user) => eq(olderPgNotes.ownerId, user.id) },
});
const newerPgResource = resource(newerPgNotes, {
  id: newerPgNotes.id,
  auth: { read: (user) => eq(newerPgNotes.ownerId, user.id) },
});

Deno.test("rows of Drizzle's tables have the types that the service gives them", () => {
  type Older = InferApi<{ resources: [typeof olderResource] }>["memos"]["row"];
  type Newer = InferApi<{ resources: [typeof newerResource] }>["notes"]["row"];
  type OlderPg = InferApi<{ resources: [typeof olderPgResource] }>["notes"]["row"];
  type NewerPg = InferApi<{ resources: [typeof newerPgResource] }>["notes"]["row"];
  const older: Equal<Older, Note & { year: string }> = true;
  const newer: Equal<Newer, Note & { year: string }> = true;
  const olderOnPg: Equal<OlderPg, Note> = true;
  const newerOnPg: Equal<NewerPg, Note> = true;
  assertEquals([older, newer, olderOnPg, newerOnPg], [true, true, true, true]);
});

Deno.test("the compiler refuses what does not fit columns of Drizzle", () => {
  // @ts-expect-error: no member of the enum
  eq(olderNotes.status, "gone");
  // @ts-expect-error: no member of the enum
  eq(newerPgNotes.status, "gone");
  // @ts-expect-error: a number is no text
  eq(newerNotes.ownerId, 1);
  // @ts-expect-error: the column of another table
  resource(olderUsers, { id: olderNotes.id });
  // @ts-expect-error: the column of another table
  resource(newerUsers, { id: newerNotes.id });
  resource(newerNotes, {
    id: newerNotes.id,
    // @ts-expect-error: the rows have texts
    computed: { time: (row) => row.at?.getTime() },
  });
});

Deno.test("calls of a table of Drizzle in code have the types that the service gives them", () => {
  const calls = async (api: CodeApi<AnyApi>) => {
    const older = await api.of(olderNotes).get(1);
    const newer = await api.of(newerPgNotes).list();
    await api.of(olderNotes).update(1, { at: "2026-01-01T00:00:00Z", big: "5" });
    // @ts-expect-error: a body has texts in the place of moments
    await api.of(olderNotes).create({ at: new Date() });
    const one: Equal<typeof older.value, Note> = true;
    const many: Equal<typeof newer.items[number], Note> = true;
    return [one, many];
  };
  assertEquals(typeof calls, "function");
});

const olderSchema = {
  ...{ olderUsers, olderNotes },
  notesRelations: relations(olderNotes, ({ one }) => ({
    owner: one(olderUsers, { fields: [olderNotes.ownerId], references: [olderUsers.id] }),
  })),
  usersRelations: relations(olderUsers, ({ one, many }) => ({
    notes: many(olderNotes),
    favourite: one(olderNotes),
  })),
};
const newerRelations = defineRelations({ people: newerUsers, memos: newerNotes }, (r) => ({
  memos: { owner: r.one.people({ from: r.memos.ownerId, to: r.people.id }) },
  people: {
    notes: r.many.memos({ from: r.people.id, to: r.memos.ownerId }),
    favourite: r.one.memos({ from: r.people.id, to: r.memos.ownerId }),
  },
}));

/** The related rows that each resource below has. */
interface Related {
  notes: { owner: { id: string } | null; again: { id: string } | null };
  users: { notes: Note[]; favourite: Note | null };
}

Deno.test("relations of Drizzle have their names and rows in the types", () => {
  const older = [
    resource(olderUsers, {
      id: olderUsers.id,
      relations: drizzleRelations(olderUsers, olderSchema),
    }),
    resource(olderNotes, {
      id: olderNotes.id,
      relations: {
        ...drizzleRelations(olderNotes, olderSchema),
        again: { type: "belongsTo", resource: olderUsers, foreignKey: olderNotes.ownerId },
      },
    }),
  ];
  const newer = [
    resource(newerUsers, {
      id: newerUsers.id,
      relations: drizzleRelations(newerUsers, newerRelations),
    }),
    resource(newerNotes, {
      id: newerNotes.id,
      relations: {
        ...drizzleRelations(newerNotes, newerRelations),
        again: { type: "belongsTo", resource: newerUsers, foreignKey: newerNotes.ownerId },
      },
    }),
  ];
  type Older = InferApi<{ resources: typeof older }>;
  type Newer = InferApi<{ resources: typeof newer }>;
  const fits: [
    Equal<Older["notes"]["relations"], Related["notes"]>,
    Equal<Older["users"]["relations"], Related["users"]>,
    Equal<Newer["notes"]["relations"], Related["notes"]>,
    Equal<Newer["users"]["relations"], Related["users"]>,
  ] = [true, true, true, true];
  const calls = async (api: CodeApi<Older>) => {
    const { items } = await api.users.list({ include: ["notes", "favourite.owner"] });
    // @ts-expect-error: there is no such relation
    await api.users.list({ include: ["note"] });
    return items[0]?.notes[0]?.status;
  };
  assertEquals([fits, typeof calls], [[true, true, true, true], "function"]);
});

Deno.test("other names for relations of Drizzle are in the types", () => {
  const names = { notes: "written", favourite: null } as const;
  const older = [
    resource(olderUsers, {
      id: olderUsers.id,
      relations: drizzleRelations(olderUsers, olderSchema, names),
    }),
    resource(olderNotes, { id: olderNotes.id }),
  ];
  const newer = [
    resource(newerUsers, {
      id: newerUsers.id,
      relations: drizzleRelations(newerUsers, newerRelations, names),
    }),
    resource(newerNotes, { id: newerNotes.id }),
  ];
  type Older = InferApi<{ resources: typeof older }>;
  type Newer = InferApi<{ resources: typeof newer }>;
  const fits: [
    Equal<Older["users"]["relations"], { written: Note[] }>,
    Equal<Newer["users"]["relations"], { written: Note[] }>,
  ] = [true, true];
  assertEquals(fits, [true, true]);
});

Deno.test("relations whose names the types do not say may be included", () => {
  const source: object = olderSchema;
  const resources = [
    resource(olderUsers, {
      id: olderUsers.id,
      relations: drizzleRelations(olderUsers, source),
    }),
    resource(olderNotes, {
      id: olderNotes.id,
      autoRelations: true,
      relations: {
        author: { type: "belongsTo", resource: olderUsers, foreignKey: olderNotes.ownerId },
      },
    }),
    resource(newerPgNotes, { id: newerPgNotes.id, path: "plain" }),
  ];
  const calls = async (api: CodeApi<InferApi<{ resources: typeof resources }>>) => {
    const users = await api.users.list({ include: ["notes"] });
    const notes = await api.notes.list({ include: ["author", "owner"] });
    // @ts-expect-error: it has no relations
    await api.plain.list({ include: ["owner"] });
    // @ts-expect-error: what a row needs is known nevertheless
    await api.notes.replace(1, { at: null });
    const row = notes.items[0];
    const author: string | undefined = row?.author?.id;
    return [users.items[0]?.notes, row?.owner, author];
  };
  assertEquals(typeof calls, "function");
});

/** Whether two types accept the same values; members are compared, however they are put together. */
type Equal<A, B> = [A, B] extends [B, A] ? true : false;

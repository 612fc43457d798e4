import { assertEquals, assertThrows } from "@std/assert";
import { relations as olderRelations } from "drizzle-0.45";
import * as older from "drizzle-0.45/sqlite-core";
import { defineRelations } from "drizzle-1.0";
import * as newer from "drizzle-1.0/sqlite-core";
import { all, openDatabase, resource } from "../../mod.ts";
import type { ColumnLike } from "../../exports/schema.ts";
import { drizzleRelations } from "../../exports/drizzle.ts";
import { resolveRelations } from "../../src/resource/define/resolve_relations.ts";

/** How a relation is resolved: its type, and each step with the columns that are equal. */
const expected = {
  owner: ["belongsTo", "users.ownerId=id"],
  reviewer: ["belongsTo", "users.reviewerId=id"],
  detail: ["hasOne", "details.id=noteId"],
  links: ["hasMany", "note_tags.id=noteId"],
};

Deno.test("relations() of Drizzle 0.45 are relations of the resource", async () => {
  const users = older.sqliteTable("users", { id: older.integer().primaryKey() });
  const notes = older.sqliteTable("notes", {
    id: older.integer().primaryKey(),
    ownerId: older.integer("owner_id"),
    reviewerId: older.integer("reviewer_id"),
  });
  const details = older.sqliteTable("details", {
    id: older.integer().primaryKey(),
    noteId: older.integer("note_id"),
  });
  const noteTags = older.sqliteTable("note_tags", {
    id: older.integer().primaryKey(),
    noteId: older.integer("note_id"),
  });
  const schema = {
    ...{ users, notes, details, noteTags },
    notesRelations: olderRelations(notes, ({ one, many }) => ({
      owner: one(users, {
        fields: [notes.ownerId],
        references: [users.id],
        relationName: "owner",
      }),
      reviewer: one(users, {
        fields: [notes.reviewerId],
        references: [users.id],
        relationName: "reviewer",
      }),
      detail: one(details),
      links: many(noteTags),
    })),
    usersRelations: olderRelations(users, ({ many }) => ({
      owned: many(notes, { relationName: "owner" }),
    })),
    detailsRelations: olderRelations(details, ({ one }) => ({
      note: one(notes, { fields: [details.noteId], references: [notes.id] }),
    })),
    noteTagsRelations: olderRelations(noteTags, ({ one }) => ({
      note: one(notes, { fields: [noteTags.noteId], references: [notes.id] }),
    })),
  };
  assertEquals(await resolved(notes, drizzleRelations(notes, schema)), expected);
  assertEquals(await resolved(users, drizzleRelations(users, schema)), {
    owned: ["hasMany", "notes.id=ownerId"],
  });
  const { usersRelations, notesRelations } = schema;
  assertEquals(drizzleRelations(users, [usersRelations, notesRelations]).owned?.type, "hasMany");
  assertThrows(
    () => drizzleRelations(users, [usersRelations]),
    Error,
    'Cannot relate "users" by owned of Drizzle: "notes" has no one() that leads back',
  );
});

Deno.test("a many() without a name leads back by a one() with a name, as in Drizzle", async () => {
  const { boards, lists, schema } = kanbanSchema();
  assertEquals(await resolved(boards, drizzleRelations(boards, schema)), {
    lists: ["hasMany", "lists.id=boardId"],
  });
  const names = { createdBy: "creator", board: null } as const;
  const relations = drizzleRelations(lists, schema, names);
  // The compiler knows the names, too.
  assertEquals(relations.creator.type, "belongsTo");
  assertEquals(await resolved(lists, relations), { creator: ["belongsTo", "users.createdBy=id"] });
});

Deno.test("a relation of Drizzle with the name of a column needs another name", () => {
  const { users, lists, schema } = kanbanSchema();
  assertThrows(
    () => drizzleRelations(lists, schema),
    Error,
    'Cannot relate "lists" by createdBy of Drizzle: a column has this name, and a row has one ' +
      "value for each name. The third argument of drizzleRelations names it, " +
      '{ createdBy: "other" }, or leaves it out, { createdBy: null }',
  );
  assertThrows(
    () => drizzleRelations(lists, schema, { createdBy: null, boards: "b" }),
    Error,
    'Cannot relate "lists": Drizzle has no relation boards',
  );
  assertThrows(() => drizzleRelations(users, schema), Error, "has no one() that leads back");
  assertEquals(drizzleRelations(users, schema, { boards: null }), {});
});

/** Tables whose relations Drizzle accepts, as a public project declares them. */
function kanbanSchema() {
  const users = older.sqliteTable("users", { id: older.integer().primaryKey() });
  const boards = older.sqliteTable("boards", { id: older.integer().primaryKey() });
  const lists = older.sqliteTable("lists", {
    id: older.integer().primaryKey(),
    boardId: older.integer("board_id"),
    createdBy: older.integer("created_by"),
  });
  const schema = {
    usersRelations: olderRelations(users, ({ many }) => ({ boards: many(boards) })),
    boardsRelations: olderRelations(boards, ({ many }) => ({ lists: many(lists) })),
    listsRelations: olderRelations(lists, ({ one }) => ({
      board: one(boards, {
        fields: [lists.boardId],
        references: [boards.id],
        relationName: "listsBoard",
      }),
      createdBy: one(users, { fields: [lists.createdBy], references: [users.id] }),
    })),
  };
  return { users, boards, lists, schema };
}

Deno.test("defineRelations of Drizzle 1.0 are relations of the resource", async () => {
  const users = newer.sqliteTable("users", { id: newer.integer().primaryKey() });
  const notes = newer.sqliteTable("notes", {
    id: newer.integer().primaryKey(),
    ownerId: newer.integer("owner_id"),
    reviewerId: newer.integer("reviewer_id"),
  });
  const details = newer.sqliteTable("details", {
    id: newer.integer().primaryKey(),
    noteId: newer.integer("note_id"),
  });
  const noteTags = newer.sqliteTable("note_tags", {
    id: newer.integer().primaryKey(),
    noteId: newer.integer("note_id"),
    tagId: newer.integer("tag_id"),
  });
  const tags = newer.sqliteTable("tags", { id: newer.integer().primaryKey() });
  const relations = defineRelations({ users, notes, details, noteTags, tags }, (r) => ({
    notes: {
      owner: r.one.users({ from: r.notes.ownerId, to: r.users.id }),
      reviewer: r.one.users({ from: r.notes.reviewerId, to: r.users.id, alias: "reviewer" }),
      detail: r.one.details({ from: r.notes.id, to: r.details.noteId }),
      links: r.many.noteTags({ from: r.notes.id, to: r.noteTags.noteId }),
      tags: r.many.tags({
        from: r.notes.id.through(r.noteTags.noteId),
        to: r.tags.id.through(r.noteTags.tagId),
      }),
    },
    users: {
      owned: r.many.notes({ from: r.users.id, to: r.notes.ownerId, where: { id: 1 } }),
    },
    tags: {
      note: r.one.notes({
        from: r.tags.id.through(r.noteTags.tagId),
        to: r.notes.id.through(r.noteTags.noteId),
      }),
    },
  }));
  assertEquals(await resolved(notes, drizzleRelations(notes, relations)), {
    ...expected,
    tags: ["manyToMany", "note_tags.id=noteId", "tags.tagId=id"],
  });
  assertEquals(drizzleRelations(details, relations), {});
  assertThrows(
    () => drizzleRelations(tags, relations),
    Error,
    'Cannot relate "tags" by note of Drizzle: it leads to one row through a table',
  );
  assertThrows(
    () => drizzleRelations(users, relations),
    Error,
    'Cannot relate "users" by owned of Drizzle: it has a condition',
  );
});

/** Each table above has it. */
function idOf(table: Parameters<typeof drizzleRelations>[0]) {
  return (table as typeof table & { readonly id: ColumnLike<number> }).id;
}

async function resolved(
  table: Parameters<typeof drizzleRelations>[0],
  relations: ReturnType<typeof drizzleRelations>,
) {
  const db = await openDatabase("sqlite::memory:");
  const definition = resource(table, { id: idOf(table), auth: { read: () => all() }, relations });
  const found = resolveRelations([definition], db.driver).get(definition);
  await db.close();
  return Object.fromEntries(
    [...found ?? []].map(([name, { type, steps }]) => [
      name,
      [
        type,
        ...steps.map(({ table, pairs: [{ own, other }] }) =>
          `${table.name}.${own.name}=${other.name}`
        ),
      ],
    ]),
  );
}

import {
  all,
  type AppConfig,
  type Database,
  eq,
  integer,
  resource,
  type ResourceOptions,
  rsql,
  table,
  text,
  type User,
} from "../../mod.ts";
import type { TableLike } from "../../exports/schema.ts";
import type { Engine } from "../support/engines.ts";
import { hiddenMark, insertRows, type Service, withService } from "../support/http.ts";
import { recorded } from "./batch_support.ts";

export const people = table("people", {
  id: integer().primaryKey(),
  name: text().notNull(),
  ownerId: text().notNull().default("ada").as("owner_id"),
  secret: text().notNull().default(`${hiddenMark}person`),
});

export const labels = table("labels", {
  id: integer().primaryKey(),
  name: text().notNull().unique(),
  ownerId: text().notNull().default("all").as("owner_id"),
});

export const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  ownerId: text().notNull().default("ada").as("owner_id"),
  authorId: integer().references(() => people.id).as("author_id"),
  editorId: integer().notNull().references(() => people.id).as("editor_id"),
  version: integer().notNull().default(1),
});

/** Children that may be without a note. */
export const tasks = table("tasks", {
  id: integer().primaryKey(),
  title: text().notNull(),
  ownerId: text().notNull().default("ada").as("owner_id"),
  noteId: integer().references(() => notes.id).as("note_id"),
  version: integer().notNull().default(1),
});

/** Children that belong to a note in any case. */
export const steps = table("steps", {
  id: integer().primaryKey(),
  noteId: integer().notNull().references(() => notes.id).as("note_id"),
});

/** The only child of a note. */
export const covers = table("covers", {
  id: integer().primaryKey(),
  noteId: integer().unique().references(() => notes.id).as("note_id"),
  url: text().notNull(),
});

/** Links that no resource serves. */
export const noteLabels = table("note_labels", {
  noteId: integer().primaryKey().references(() => notes.id).as("note_id"),
  labelId: integer().primaryKey().references(() => labels.id).as("label_id"),
});

/** Links that are rows of a resource. */
export const shares = table("shares", {
  id: integer().primaryKey(),
  noteId: integer().notNull().references(() => notes.id).as("note_id"),
  personId: integer().notNull().references(() => people.id).as("person_id"),
  givenBy: text().notNull().default("ada").as("given_by"),
});

export const deskTables: readonly TableLike<unknown, unknown>[] = [
  people,
  labels,
  notes,
  tasks,
  steps,
  covers,
  noteLabels,
  shares,
];

export const ada = { "x-user": "ada" };
export const bob = { "x-user": "bob" };

/** The rows of the user, and those of all. */
const own = (user: User) => rsql`ownerId=in=(${user.id},all)`;
const open = {
  read: () => all(),
  create: () => all(),
  update: () => all(),
  delete: () => all(),
} as const;

/** Changes to how the tables are served. */
export interface DeskChanges {
  readonly notes?: Partial<ResourceOptions<typeof notes.$inferSelect>>;
  readonly tasks?: Partial<ResourceOptions<typeof tasks.$inferSelect>>;
  readonly shares?: Partial<ResourceOptions<typeof shares.$inferSelect>>;
  readonly covers?: Partial<ResourceOptions<typeof covers.$inferSelect>>;
}

/** Notes with every kind of relation; ada and bob each see their own rows, and those of all. */
export function deskResources(changes: DeskChanges) {
  return [
    resource(people, {
      id: people.id,
      auth: { ...open, read: own },
      fields: { readable: [people.id, people.name] },
    }),
    resource(labels, {
      id: labels.id,
      auth: { ...open, read: own },
      nestedWrites: true,
      relations: {
        notes: {
          ...{ type: "manyToMany", resource: notes, through: noteLabels },
          ...{ foreignKey: noteLabels.labelId, references: noteLabels.noteId },
        },
      },
    }),
    resource(notes, {
      id: notes.id,
      auth: {
        ...{ ...open, read: own, subscribe: own },
        update: (user) => eq(notes.ownerId, user.id),
      },
      etag: { versionField: notes.version },
      nestedWrites: true,
      relations: {
        author: { type: "belongsTo", resource: people, foreignKey: notes.authorId },
        editor: { type: "belongsTo", resource: people, foreignKey: notes.editorId },
        tasks: { type: "hasMany", resource: tasks, foreignKey: tasks.noteId },
        steps: { type: "hasMany", resource: steps, foreignKey: steps.noteId },
        cover: { type: "hasOne", resource: covers, foreignKey: covers.noteId },
        labels: {
          ...{ type: "manyToMany", resource: labels, through: noteLabels },
          ...{ foreignKey: noteLabels.noteId, references: noteLabels.labelId },
        },
        sharedWith: {
          ...{ type: "manyToMany", resource: people, through: shares },
          ...{ foreignKey: shares.noteId, references: shares.personId },
        },
      },
      ...changes.notes,
    }),
    resource(tasks, {
      id: tasks.id,
      auth: {
        ...{ ...open, read: own, subscribe: own },
        update: (user) => eq(tasks.ownerId, user.id),
      },
      etag: { versionField: tasks.version },
      ...changes.tasks,
    }),
    resource(steps, { id: steps.id, auth: open }),
    resource(covers, { id: covers.id, auth: open, ...changes.covers }),
    resource(shares, {
      id: shares.id,
      auth: {
        read: () => all(),
        create: (user) => eq(shares.givenBy, user.id),
        delete: (user) => eq(shares.givenBy, user.id),
      },
      generatedFields: [shares.givenBy],
      ...changes.shares,
    }),
  ];
}

/** Runs `work` against the desk, with note 1 of ada, note 2 of bob, and rows to relate. */
export function withDesk(
  engine: Engine,
  changes: DeskChanges,
  work: (service: Service, statements: string[]) => Promise<void>,
  config: Partial<AppConfig> = {},
): Promise<void> {
  const statements: string[] = [];
  return withService(
    engine,
    deskTables,
    (db) => ({ db: recorded(db, statements), resources: deskResources(changes), ...config }),
    async (service) => {
      await fillDesk(service.db);
      await work(service, statements);
    },
  );
}

export async function fillDesk(db: Database): Promise<void> {
  const secret = `${hiddenMark}person`;
  await insertRows(
    db,
    people,
    [["a", "ada"], ["b", "bob"], ["c", "all"]].map(([name = "", ownerId = ""], index) => ({
      ...{ id: index + 101, name, ownerId, secret },
    })),
  );
  await insertRows(
    db,
    labels,
    ["all", "all", "all", "ada", "bob"].map((ownerId, index) => ({
      ...{ id: index + 101, name: `l${index + 101}`, ownerId },
    })),
  );
  await insertRows(db, notes, [
    { id: 101, title: "one", ownerId: "ada", authorId: 101, editorId: 103, version: 1 },
    { id: 102, title: "two", ownerId: "bob", authorId: null, editorId: 103, version: 1 },
    { id: 103, title: "three", ownerId: "all", authorId: null, editorId: 103, version: 1 },
  ]);
  await insertRows(
    db,
    tasks,
    [["ada", 101], ["ada", null], ["bob", 101], ["all", 101], ["all", null], ["bob", null]].map(
      ([ownerId, noteId], index) => ({
        ...{ id: index + 101, title: `t${index + 101}`, ownerId, noteId, version: 1 },
      }),
    ),
  );
}

/** What is related to note 101, and the versions of the rows: `labels 101 104`. */
export async function related(db: Database): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (
    const [name, sql] of Object.entries({
      note: "SELECT author_id, editor_id, version FROM notes WHERE id = 101",
      tasks: "SELECT id, version FROM tasks WHERE note_id = 101 ORDER BY 1",
      free: "SELECT id, version FROM tasks WHERE note_id IS NULL ORDER BY 1",
      steps: "SELECT id FROM steps WHERE note_id = 101 ORDER BY 1",
      covers: "SELECT id, note_id FROM covers ORDER BY 1",
      labels: "SELECT label_id FROM note_labels WHERE note_id = 101 ORDER BY 1",
      shares: "SELECT person_id, given_by FROM shares WHERE note_id = 101 ORDER BY 1, 2",
    })
  ) {
    const { rows } = await db.driver.query({ text: sql, values: [] });
    found[name] = rows.map((row) => row.map((cell) => cell ?? "-").join(":")).join(" ");
  }
  return found;
}

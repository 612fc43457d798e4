import {
  all,
  and,
  type AppConfig,
  boolean,
  decimal,
  eq,
  integer,
  isNull,
  json,
  or,
  real,
  resource,
  rsql,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import { databaseSearch } from "../../exports/search.ts";
import type { DrizzleLine } from "../support/drizzle_schema.ts";
import type { Service } from "../support/http.ts";

const members = ["draft", "open", "done"] as const;

const users = table("users", { id: text().primaryKey(), name: text().notNull() });
const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id").references(() => users.id),
  title: text({ maxLength: 40 }).notNull(),
  slug: text().unique(),
  status: text({ enum: members }).notNull().default("draft"),
  rank: integer().default(7),
  price: decimal(),
  ratio: real(),
  isOpen: boolean().notNull().default(true).as("is_open"),
  data: json<{ tags: string[] }>(),
  at: timestamp().default(() => "2001-02-03T04:05:06.000Z"),
  version: integer().notNull().default(1),
  deletedAt: timestamp().as("deleted_at"),
});
const labels = table("labels", { id: integer().primaryKey(), name: text().notNull().unique() });
const noteLabels = table("note_labels", {
  noteId: integer().primaryKey().as("note_id").references(() => notes.id),
  labelId: integer().primaryKey().as("label_id").references(() => labels.id),
});

/** The same four tables, however they are declared. */
export interface Tables {
  readonly users: typeof users;
  readonly notes: typeof notes;
  readonly labels: typeof labels;
  readonly noteLabels: typeof noteLabels;
}

/** Declared by `table()`. */
export const declaredTables: Tables = { users, notes, labels, noteLabels };

/** Declared by Drizzle for SQLite. */
export function sqliteTables({ sqlite: d }: DrizzleLine): Tables {
  const users = d.sqliteTable("users", { id: d.text().primaryKey(), name: d.text().notNull() });
  const notes = d.sqliteTable("notes", {
    id: d.integer().primaryKey({ autoIncrement: true }),
    ownerId: d.text("owner_id").notNull().references(() => users.id),
    title: d.text({ length: 40 }).notNull(),
    slug: d.text().unique(),
    status: d.text({ enum: members }).notNull().default("draft"),
    rank: d.integer().default(7),
    price: d.numeric(),
    ratio: d.real(),
    isOpen: d.integer("is_open", { mode: "boolean" }).notNull().default(true),
    data: d.text({ mode: "json" }).$type<{ tags: string[] }>(),
    at: d.integer({ mode: "timestamp" }).$defaultFn(() => new Date("2001-02-03T04:05:06.789Z")),
    version: d.integer().notNull().default(1),
    deletedAt: d.integer("deleted_at", { mode: "timestamp_ms" }),
  }, (t) => [d.index("by_owner").on(t.ownerId, t.rank)]);
  const labels = d.sqliteTable("labels", {
    id: d.integer().primaryKey({ autoIncrement: true }),
    name: d.text().notNull().unique(),
  });
  const noteLabels = d.sqliteTable("note_labels", {
    noteId: d.integer("note_id").notNull().references(() => notes.id),
    labelId: d.integer("label_id").notNull().references(() => labels.id),
  }, (t) => [d.primaryKey({ columns: [t.noteId, t.labelId] })]);
  // The drive is written once, with the types of `table()`; those of Drizzle have tests of their own.
  return { users, notes, labels, noteLabels } as unknown as Tables;
}

/** Declared by Drizzle for Postgres. */
export function postgresTables({ pg: d }: DrizzleLine): Tables {
  const users = d.pgTable("users", { id: d.text().primaryKey(), name: d.text().notNull() });
  const notes = d.pgTable("notes", {
    id: d.serial().primaryKey(),
    ownerId: d.text("owner_id").notNull().references(() => users.id),
    title: d.varchar({ length: 40 }).notNull(),
    slug: d.text().unique(),
    status: d.pgEnum("status", members)().notNull().default("draft"),
    rank: d.integer().default(7),
    price: d.numeric(),
    ratio: d.doublePrecision(),
    isOpen: d.boolean("is_open").notNull().default(true),
    data: d.jsonb().$type<{ tags: string[] }>(),
    at: d.timestamp({ withTimezone: true, precision: 3 })
      .$defaultFn(() => new Date("2001-02-03T04:05:06Z")),
    version: d.bigint({ mode: "number" }).notNull().default(1),
    deletedAt: d.timestamp("deleted_at"),
  }, (t) => [d.index("by_owner").on(t.ownerId, t.rank)]);
  const labels = d.pgTable("labels", {
    id: d.integer().primaryKey().generatedByDefaultAsIdentity(),
    name: d.text().notNull().unique(),
  });
  const noteLabels = d.pgTable("note_labels", {
    noteId: d.integer("note_id").notNull(),
    labelId: d.integer("label_id").notNull().references(() => labels.id),
  }, (t) => [
    d.primaryKey({ columns: [t.noteId, t.labelId] }),
    d.foreignKey({ columns: [t.noteId], foreignColumns: [notes.id] }),
  ]);
  return { users, notes, labels, noteLabels } as unknown as Tables;
}

/** A service of these tables that has every option which names columns. */
export function serviceOf({ users, notes, labels, noteLabels }: Tables): Omit<AppConfig, "db"> {
  const open = { public: true, create: () => all(), update: () => all(), delete: () => all() };
  return {
    search: databaseSearch(),
    resources: [
      resource(users, { id: users.id, auth: open }),
      resource(notes, {
        id: notes.id,
        auth: {
          read: (user) => or(eq(notes.ownerId, user.id), eq(notes.status, "open")),
          create: (user) => eq(notes.ownerId, user.id),
          update: (user) => rsql`ownerId==${user.id}`,
          delete: (user) => and(eq(notes.ownerId, user.id), isNull(notes.deletedAt)),
          subscribe: (user) => eq(notes.ownerId, user.id),
        },
        fields: { immutable: [notes.ownerId], filterable: [...columnsOf(notes)] },
        generatedFields: [notes.ownerId],
        etag: { versionField: notes.version },
        softDelete: { field: notes.deletedAt },
        capabilities: { enableExport: true },
        relations: {
          owner: {
            type: "belongsTo",
            resource: users,
            foreignKey: notes.ownerId,
            filterable: true,
          },
          labels: {
            type: "manyToMany",
            resource: labels,
            through: noteLabels,
            foreignKey: noteLabels.noteId,
            references: noteLabels.labelId,
          },
        },
        nestedWrites: true,
        search: { fields: [notes.title] },
        computed: {
          label: ({ title, rank, at }) => `${title} ${rank} ${at}`,
        },
        hooks: {
          onBeforeUpdate: async ({ db }, id, patch) => {
            const { rows } = await db.sql<{ title: string }>`
              SELECT ${notes.title} FROM ${notes} WHERE ${notes.id} = ${id}
              AND ${notes.at} < ${new Date()} AND ${isNull(notes.deletedAt)}`;
            return rows[0]?.title === "fixed" ? { ...patch, rank: 99 } : patch;
          },
        },
      }),
      resource(labels, { id: labels.id, auth: open, autoRelations: true }),
      resource(noteLabels, {
        id: [noteLabels.noteId, noteLabels.labelId],
        path: "note-labels",
        auth: open,
        autoRelations: { filterable: true },
      }),
    ],
  };
}

function columnsOf(notes: Tables["notes"]) {
  const { id, ownerId, title, status, rank, price, ratio, isOpen, data, at, deletedAt } = notes;
  return [id, ownerId, title, status, rank, price, ratio, isOpen, data, at, deletedAt];
}

/** An answer of the drive: the request, the status and what it holds. */
export type Step = readonly [request: string, status: number, answer: unknown];

const ada = { "x-user": "ada" };
const bob = { "x-user": "bob" };

/** Calls every operation, and gives what it answered, without the moments of the run. */
export async function drive({ send, subscribe }: Service): Promise<readonly Step[]> {
  const steps: Step[] = [];
  const note = (request: string, status: number, answer: unknown) =>
    steps.push([
      request,
      status,
      JSON.parse(JSON.stringify(answer).replaceAll(thisRun, "now").replaceAll(position, '$1"…"')),
    ]);
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = ada,
  ) => {
    const answer = await send(method, `/api/${path}`, body, headers);
    const etag = answer.headers.get("etag");
    note(`${method} ${path}`, answer.status, etag === null ? answer.body : [etag, answer.body]);
    return answer;
  };
  const read = async (path: string, headers: Record<string, string> = ada) =>
    await call("GET", path, undefined, headers);

  for (const id of ["ada", "bob"]) await call("POST", "users", { id, name: id.toUpperCase() });
  for (const name of ["red", "blue"]) await call("POST", "labels", { name });
  const stream = await subscribe("/api/notes/subscribe", ada);
  note("snapshot", 200, await stream.untilSynced());
  const first = await call("POST", "notes", { title: "first" });
  for (const body of newNotes) await call("POST", "notes", body);
  await call("POST", "notes", { title: "theirs", status: "open" }, bob);
  for (const body of badNotes) await call("POST", "notes", body);
  await call("POST", "notes", { title: "nested", labels: [{ name: "green" }] });
  await call("POST", "note-labels", { noteId: 1, labelId: 2 });
  await call("POST", "note-labels", { noteId: 1, labelId: 2 });
  for (const query of queries) await read(`notes${query}`);
  await read("notes?limit=2&orderBy=-price,at&totalCount=true");
  let page = await read("notes?limit=2&orderBy=-rank,title");
  while (page.body.nextCursor !== null) {
    page = await send(
      "GET",
      `/api/notes?limit=2&orderBy=-rank,title&cursor=${page.body.nextCursor}`,
      undefined,
      ada,
    );
    note("the next page", page.status, page.body.items);
  }
  for (const path of paths) await read(path);
  await read("notes?select=id,title,at,price,data", { ...ada, accept: "text/csv" });
  await read("notes/1", bob);
  await call("PATCH", "notes/1", { title: "changed", at: "2002-01-01T00:00:00Z" });
  const etag = first.headers.get("etag") ?? "";
  await call("PATCH", "notes/1", { rank: 1 }, { ...ada, "if-match": etag });
  await call("PATCH", "notes/1", { rank: 1.5 });
  await call("PATCH", "notes/2", { ownerId: "bob", price: "10.25" });
  await call("PATCH", "notes/5", { title: "x" });
  await call("PUT", "notes/3", { title: "replaced", data: { tags: [] } });
  await call("PATCH", "notes/4", { rank: 3 });
  await call("POST", "notes/batch", { items: [{ title: "b1" }, { title: "b2", rank: 2 }] });
  await call("POST", "notes/batch/upsert", {
    items: [{ id: 1, title: "upserted" }, { id: 40, title: "new", at: "2003-01-01T00:00:00Z" }],
  });
  await call("PUT", "notes/batch", { items: [{ id: 2, title: "both", price: "1" }] });
  await call("PATCH", "notes/batch", { filter: "rank=lt=5", patch: { status: "done" } });
  await call("DELETE", "notes/batch", { filter: "status==done" });
  await call("DELETE", "notes/1");
  await read("notes/1");
  await call("POST", "notes/1/restore");
  await call("DELETE", "users/ada");
  await call("DELETE", "note-labels/1,2");
  await call("DELETE", "note-labels/1,2");
  for (const query of ["", "/count", "/search?q=both", "/aggregate?count=true&sum=rank"]) {
    await read(`notes${query}`);
  }
  const events: unknown[] = [];
  // Each write above that changes a note of hers is an event, in the order of the writes.
  for (let count = 0; count < 17; count++) events.push(await stream.next());
  note("events", 200, events);
  await stream.close();
  return steps;
}

/** Positions, and the moments of this run: those of the rows are long ago. */
const position = /("nextCursor":)"[^"]*"/g;
const thisRun = /20[2-9]\d-\d\d-\d\dT[\d:.]+Z/g;

const newNotes = [
  { title: "second", rank: 2, price: "9.5", ratio: 0.25, data: { tags: ["new", "hot"] } },
  { title: "third", slug: "third", status: "open", isOpen: false, at: "2000-01-01T00:00:00Z" },
  { title: "fixed", rank: null, price: "100", data: { tags: ["hot"], size: 4 } },
];

const badNotes = [
  {},
  { title: "x".repeat(41) },
  { title: "x", status: "gone" },
  { title: "x", rank: "many" },
  { title: "x", price: "1e" },
  { title: "x", at: "yesterday" },
  { title: "x", isOpen: 1 },
  { title: "again", slug: "third" },
];

const queries = [
  "",
  "?orderBy=title&select=id,title,at",
  "?filter=status==open",
  "?filter=at=gt=2000-06-01T00:00:00Z",
  "?filter=at==2000-01-01T00:00:00Z",
  "?filter=price=ge=9.5",
  "?filter=isOpen==false",
  "?filter=title=like=%25ir%25&orderBy=-id",
  "?filter=data.tags.0==hot",
  "?filter=rank=isnull=true,ratio==0.25",
  "?filter=owner.name==BOB",
  "?filter=rank==x",
  "?filter=nothing==1",
  "?include=owner,labels(orderBy:name)",
  "/count?filter=status==draft",
  "/aggregate?groupBy=status&count=true&sum=rank&min=at&max=price",
  "/search?q=second",
];

const paths = [
  "notes/1?include=labels",
  "notes/99",
  "note-labels",
  "note-labels/1,2?include=note,label",
  "labels?include=note_labels",
  "note-labels?filter=label.name==blue",
];

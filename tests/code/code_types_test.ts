import { assertEquals } from "@std/assert";
import {
  all,
  type App,
  createApp,
  eq,
  integer,
  openDatabase,
  resource,
  table,
  text,
} from "../../mod.ts";
import type { AnyApi, CodeApi } from "../../exports/options.ts";

const authors = table("authors", { id: integer().primaryKey(), name: text().notNull() });
const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  pages: integer(),
  authorId: integer().references(() => authors.id),
});

// Mostly checked by the compiler.
Deno.test("calls have the types of the tables that are served", async () => {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([authors, notes]);
  const everything = {
    ...{ read: () => all(), create: () => all(), update: () => all(), delete: () => all() },
  };
  const app = await createApp({
    db,
    secret: "sixteen or more characters",
    resources: [
      resource(authors, { id: authors.id, auth: everything }),
      resource(notes, {
        id: notes.id,
        auth: everything,
        capabilities: { enableDelete: false },
        relations: {
          author: { type: "belongsTo", resource: authors, foreignKey: notes.authorId },
        },
      }),
    ],
  });
  try {
    const api = app.as({ id: "ada" });
    const made = await api.notes.create({ title: "Tea" });
    const title: string = made.value.title;
    const pages: number | null = made.value.pages;
    const { items } = await api.notes.list({
      filter: eq(notes.title, "Tea"),
      select: ["title"],
      include: ["author"],
      orderBy: ["-title"],
    });
    const shown: string | undefined = items[0]?.title;
    const author: string | undefined = items[0]?.author?.name;
    assertEquals([title, pages, shown, author], ["Tea", null, "Tea", undefined]);
    const { groups } = await api.notes.aggregate({ groupBy: ["title"], sum: ["pages"] });
    const sum: number | string | null | undefined = groups[0]?.sum.pages;
    assertEquals([groups[0]?.key.title, sum], ["Tea", null]);
    const ofTable = await api.of(notes).get(made.value.id);
    assertEquals(ofTable.value.title satisfies string, "Tea");
    for await (const note of api.notes.all({ limit: 1 })) assertEquals(note.title, "Tea");

    const mistakes = () => [
      // @ts-expect-error: it was not selected
      items[0]?.pages,
      // @ts-expect-error: there is no such resource
      api.note,
      // @ts-expect-error: a title is a text
      api.notes.create({ title: 1 }),
      // @ts-expect-error: nothing is deleted
      api.notes.delete(1),
      // @ts-expect-error: there is no such field
      api.notes.list({ select: ["titel"] }),
      // @ts-expect-error: there is no such option
      api.notes.list({ filtr: "title==Tea" }),
      // @ts-expect-error: a key is a number
      api.notes.get("x"),
    ];
    assertEquals(typeof mistakes, "function");

    // An app is an app, whatever it serves; a caller may say what it knows.
    const any: App = app;
    const known: CodeApi<AnyApi> = any.asSystem();
    assertEquals(await known["notes"]?.count(), 1);
    const own = any.as<{ notes: AnyApi[string] }>(null);
    assertEquals(typeof own.notes.count, "function");
  } finally {
    await app.close();
    await db.close();
  }
});

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import fc from "fast-check";
import {
  createApp,
  decimal,
  eq,
  integer,
  isNull,
  resource,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { Engine } from "../support/engines.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";
import { run } from "../support/scratch.ts";

const authors = table("authors", {
  id: integer().primaryKey(),
  name: text(),
  fee: decimal({ precision: 10, scale: 2 }),
  born: timestamp(),
  hidden: text(),
  owner: text().notNull(),
  gone: timestamp(),
});
const books = table("books", {
  id: integer().primaryKey(),
  title: text(),
  // No constraint: an author can be missing.
  authorId: integer().as("author_id"),
});
const covers = table("covers", {
  id: integer().primaryKey(),
  bookId: integer().as("book_id"),
  colour: text(),
});

const served = () => ({
  resources: [
    resource(authors, {
      id: authors.id,
      auth: {
        public: { read: () => eq(authors.owner, "all") },
        read: ({ id }) => id === "eve" ? isNull(authors.owner) : eq(authors.owner, id),
      },
      softDelete: { field: authors.gone },
      fields: {
        readable: [authors.id, authors.name, authors.fee, authors.born],
        sortable: [authors.id, authors.name, authors.fee, authors.born, authors.hidden],
      },
    }),
    resource(covers, { id: covers.id, auth: { public: true } }),
    resource(books, {
      id: books.id,
      auth: { public: true },
      capabilities: { enableExport: true },
      relations: {
        author: {
          type: "belongsTo",
          resource: authors,
          foreignKey: books.authorId,
          filterable: true,
        },
        writer: { type: "belongsTo", resource: authors, foreignKey: books.authorId },
        cover: { type: "hasOne", resource: covers, foreignKey: covers.bookId, filterable: true },
        covers: { type: "hasMany", resource: covers, foreignKey: covers.bookId, filterable: true },
      },
    }),
  ],
});

type Author = typeof authors.$inferSelect;
type Book = typeof books.$inferSelect;
type Cover = typeof covers.$inferSelect;

const names = fc.option(fc.constantFrom("a", "A", "á", "b", "", "Z", "👍", "ž"));
const fees = fc.option(fc.constantFrom("0.10", "-1.50", "10.00", "9.00"));
const times = fc.option(fc.constantFrom("2024-01-31T12:00:00.000001Z", "2024-01-31T12:00:00.000Z"));
const world = fc.record({
  authors: fc.array(
    fc.record({
      name: names,
      fee: fees,
      born: times,
      hidden: fc.constantFrom("xyzzy-1", "xyzzy-2"),
      owner: fc.constantFrom("all", "ada", "bob"),
      gone: fc.option(fc.constant("2024-01-01T00:00:00.000Z"), { freq: 4 }),
    }),
    { maxLength: 8 },
  ),
  books: fc.array(
    fc.record({ title: names, authorId: fc.option(fc.integer({ min: 1, max: 10 })) }),
    { maxLength: 30 },
  ),
  covers: fc.array(
    fc.record({ bookId: fc.integer({ min: 1, max: 30 }), colour: names }),
    { maxLength: 20 },
  ),
});
const someOrder = fc.uniqueArray(
  fc.record({
    field: fc.constantFrom(
      ...["author.name", "author.fee", "author.born", "author.id", "cover.colour", "title"],
    ),
    isDescending: fc.boolean(),
  }),
  { minLength: 1, maxLength: 3, selector: ({ field }) => field },
);

/** The value by which the reference orders: null for a row that the user may not read. */
function valueOf(book: Book, field: string, user: string | null, rows: Rows): unknown {
  const [relation = "", name = ""] = field.split(".");
  if (name === "") return book.title;
  if (relation === "cover") {
    return rows.covers.find(({ bookId }) => bookId === book.id)?.colour ?? null;
  }
  const author = rows.authors.find(({ id, owner, gone }) =>
    id === book.authorId && gone === null && (owner === "all" || owner === user)
  );
  const value = author?.[name as keyof Author] ?? null;
  if (value === null) return null;
  return name === "fee" ? Number(value) : name === "born" ? String(value).slice(0, -1) : value;
}

interface Rows {
  readonly authors: readonly Author[];
  readonly books: readonly Book[];
  readonly covers: readonly Cover[];
}

/** Compares strings by code point, and numbers. */
function compare(left: unknown, right: unknown): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  const [a, b] = [[...String(left)], [...String(right)]];
  for (let at = 0; at < Math.min(a.length, b.length); at++) {
    const difference = (a[at]?.codePointAt(0) ?? 0) - (b[at]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

function numbered<Row>(rows: readonly Row[]): (Row & { readonly id: number })[] {
  return rows.map((row, index) => ({ id: index + 1, ...row }));
}

async function walk(service: Service, query: string, user: string | null): Promise<number[]> {
  const headers: Record<string, string> = user === null ? {} : { "x-user": user };
  const ids: number[] = [];
  let cursor: string | null = null;
  do {
    const tail: string = cursor === null ? "" : `&cursor=${cursor}`;
    const { status, body } = await service.get(`/api/books?${query}${tail}`, headers);
    assertEquals(status, 200, JSON.stringify(body));
    assert(body.items.every((item: Book) => Object.keys(item).length === 3), "no further member");
    ids.push(...body.items.map(({ id }: Book) => id));
    cursor = body.nextCursor;
  } while (cursor !== null);
  return ids;
}

testOnEngines(
  "pages in the order of a related field have each row once, as computed from readable rows",
  (engine: Engine) =>
    withService(engine, [authors, books, covers], served, async (service) => {
      const { db, send } = service;
      await fc.assert(
        fc.asyncProperty(
          world,
          someOrder,
          fc.integer({ min: 1, max: 7 }),
          fc.constantFrom(null, "ada", "bob", "eve"),
          async (given, order, limit, user) => {
            await db.sql`DELETE FROM ${authors}`;
            await db.sql`DELETE FROM ${books}`;
            await db.sql`DELETE FROM ${covers}`;
            const rows: Rows = {
              authors: numbered(given.authors),
              books: numbered(given.books),
              covers: numbered(given.covers),
            };
            if (rows.authors.length > 0) await insertRows(db, authors, [...rows.authors]);
            if (rows.books.length > 0) await insertRows(db, books, [...rows.books]);
            if (rows.covers.length > 0) await insertRows(db, covers, [...rows.covers]);
            const expected = rows.books.toSorted((left, right) => {
              for (const { field, isDescending } of order) {
                const [a, b] = [left, right].map((book) => valueOf(book, field, user, rows));
                if (a === null && b === null || a === b) continue;
                if (a === null) return 1;
                if (b === null) return -1;
                const difference = compare(a, b);
                if (difference !== 0) return isDescending ? -difference : difference;
              }
              return left.id - right.id;
            }).map(({ id }) => id);
            const orderBy = order.map(({ field, isDescending }) =>
              (isDescending ? "-" : "") + field
            )
              .join(",");
            const ids = await walk(service, `orderBy=${orderBy}&limit=${limit}`, user);
            assertEquals(ids, expected, `${orderBy} ${user}`);
            const headers = {
              accept: "application/x-ndjson",
              ...(user === null ? {} : { "x-user": user }),
            };
            const exported = await send("GET", `/api/books?orderBy=${orderBy}`, undefined, headers);
            const lines = String(exported.body).split("\n").filter((line) => line !== "");
            assertEquals(lines.map((line) => JSON.parse(line).id), expected);
          },
        ),
        { numRuns: 60 },
      );
    }),
);

testOnEngines(
  "hidden and foreign values of related rows have no influence on an order",
  (engine) =>
    withService(engine, [authors, books, covers], served, async (service) => {
      const { db, get } = service;
      const author = { name: null, fee: null, born: null, hidden: "xyzzy-0", gone: null };
      const own = Array.from({ length: 6 }, (_, index) => ({
        ...author,
        id: index + 1,
        owner: index < 3 ? "ada" : "bob",
        name: `n${(index * 5) % 6}`,
      }));
      await insertRows(db, authors, own);
      await insertRows(db, books, own.map(({ id }) => ({ id, title: null, authorId: id })));
      const before = await walk(service, "orderBy=author.name&limit=2", "ada");
      // Whatever another user's rows contain, the order and the cursors of ada's pages stay.
      for (const name of ["a", "zz", null]) {
        await db
          .sql`UPDATE ${authors} SET ${authors.name} = ${name} WHERE ${authors.owner} = ${"bob"}`;
        assertEquals(await walk(service, "orderBy=author.name&limit=2", "ada"), before);
        assertEquals(await walk(service, "orderBy=-author.name&limit=2", "eve"), [
          1,
          2,
          3,
          4,
          5,
          6,
        ]);
      }
      const refusal = async (orderBy: string) => {
        const { status, body } = await get(`/api/books?orderBy=${encodeURIComponent(orderBy)}`);
        return [status, body.detail];
      };
      const unknown = await refusal("author.nothing");
      assertEquals(unknown[0], 400);
      const said = (name: string) => `Cannot order by "${name}": it is not a sortable field`;
      // A hidden field, a relation that is not filterable, and a list are refused as if unknown.
      for (const name of ["author.hidden", "writer.name", "covers.colour", "author.owner.x"]) {
        assertEquals(await refusal(name), [400, said(name)]);
      }
      assertStringIncludes((await refusal("author.nme"))[1], 'Did you mean "name"?');
      assertStringIncludes((await refusal("author.name.desc"))[1], "write field:asc, field:desc");
      assertStringIncludes((await refusal("author.name,author.name"))[1], "twice");
      assertEquals((await refusal('author."name",-title'))[0], 200);
      assertEquals((await refusal('"author.name"'))[0], 400);
      const page = await get("/api/books?orderBy=author.name&limit=1&include=author&select=id");
      assertEquals(page.body.items.length, 1);
      const other = await get(`/api/books?orderBy=author.fee&cursor=${page.body.nextCursor}`);
      assertEquals([other.status, other.body.code], [400, "CURSOR_INVALID"]);

      // A value that is too long for a cursor is read again by the key of the row.
      await db.sql`UPDATE ${authors} SET ${authors.name} = ${"é".repeat(4_000)} || ${authors.id}`;
      assertEquals(await walk(service, "orderBy=-author.name&limit=1", "bob"), [6, 5, 4, 1, 2, 3]);
    }),
);

testOnEngines(
  "existing tables are ordered by related fields, across schemas of names",
  async (engine) => {
    const db = await engine.open();
    await run(db, `CREATE TABLE "Team Of" (id integer PRIMARY KEY, "the name" text, rank integer)`);
    await run(
      db,
      `CREATE TABLE "Member" (id integer PRIMARY KEY, team integer REFERENCES "Team Of" (id),
      boss integer REFERENCES "Member" (id), rank integer)`,
    );
    await run(db, `INSERT INTO "Team Of" VALUES (1, 'b', 3), (2, 'a', 1), (3, NULL, 2)`);
    await run(
      db,
      `INSERT INTO "Member" VALUES (1, 1, NULL, 5), (2, 2, 1, 4), (3, 3, 2, 3), (4, NULL, 1, 2)`,
    );
    const { tables } = await db.introspect();
    const app = await createApp({
      db,
      secret: "a secret for the tests only",
      runtime: systemRuntime(() => {}),
      auth: {},
      resources: tables.map((table) =>
        resource(table, { id: ["id"], auth: { public: true }, autoRelations: { filterable: true } })
      ),
    });
    const ids = async (orderBy: string) => {
      const path = `http://test/api/Member?orderBy=${encodeURIComponent(orderBy)}`;
      const body = await (await app.fetch(new Request(path))).json();
      return body.items?.map(({ id }: { id: number }) => id) ?? body.detail;
    };
    const relations = app.schema().resources.find(({ name }) => name === "Member")?.relations ?? [];
    const names = relations.map(({ name }) => name);
    const [team = "", boss = ""] = ["team", "boss"].map((start) =>
      names.find((name) => name.toLowerCase().startsWith(start)) ?? names.join()
    );
    assertEquals(await ids(`${team}."the name"`), [2, 1, 3, 4]);
    assertEquals(await ids(`-${team}.rank`), [1, 3, 2, 4]);
    // A relation to the same table, whose columns have the same names.
    assertEquals(await ids(`${boss}.rank`), [3, 2, 4, 1]);
    assertEquals(await ids(`-${boss}.id,${team}.id`), [3, 2, 4, 1]);
    await app.close();
    await db.close();
  },
);

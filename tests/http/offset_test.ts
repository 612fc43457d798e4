import { assertEquals } from "@std/assert";
import { integer, resource, table, text } from "../../mod.ts";
import { createTableInfo } from "../../src/schema/table_info.ts";
import { tableInfoOf } from "../../src/schema/table_like.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";

const shelves = table("shelves", { id: integer().primaryKey(), name: text().notNull() });
const books = table("books", {
  id: integer().primaryKey(),
  shelfId: integer().references(() => shelves.id).as("shelf_id"),
  title: text(),
  pages: integer(),
});

/** The books, without anything that distinguishes them. */
function keyless() {
  const { name, schema, columns, foreignKeys } = tableInfoOf(books);
  const plain = columns.filter((column) => column.name === "title" || column.name === "pages");
  return createTableInfo({ name, schema, columns: plain, own: false, foreignKeys, primaryKey: [] });
}

testOnEngines("a list skips rows by offset, and continues by a cursor", async (engine) => {
  const auth = { public: true } as const;
  const resources = [
    resource(shelves, { id: shelves.id, auth }),
    resource(books, {
      id: books.id,
      auth,
      relations: {
        shelf: {
          type: "belongsTo",
          resource: shelves,
          foreignKey: books.shelfId,
          filterable: true,
        },
      },
      capabilities: { enableExport: true },
      pagination: { maxLimit: 500 },
    }),
    resource(keyless(), { id: [], path: "loose", auth }),
  ];
  await withService(engine, [shelves, books], () => ({ resources }), async ({ app, db, get }) => {
    await insertRows(db, shelves, [{ id: 1, name: "a" }, { id: 2, name: "b" }]);
    await insertRows(
      db,
      books,
      Array.from({ length: 23 }, (_, index) => ({
        id: index + 1,
        shelfId: index % 3 === 0 ? null : index % 3,
        title: index % 5 === 0 ? null : `t${index % 4}`,
        pages: index % 7 === 0 ? null : index % 4,
      })),
    );
    const lists = [
      "books?",
      "books?orderBy=title",
      "books?orderBy=-pages,title",
      "books?filter=pages>0&orderBy=title:desc",
      "books?filter=shelf.name==a&include=shelf&orderBy=pages",
      "loose?",
      "loose?orderBy=title",
      "loose?orderBy=-pages&filter=pages>=1",
    ];
    for (const list of lists) {
      const all = (await get(`/api/${list}&limit=100`)).body.items;
      for (const offset of [0, 1, 4, 5, 17, 22, 23, 40]) {
        const { status, body } = await get(`/api/${list}&limit=4&offset=${offset}&totalCount=true`);
        assertEquals(
          [status, body.items],
          [200, all.slice(offset, offset + 4)],
          `${list} ${offset}`,
        );
        assertEquals([body.totalCount, body.hasMore], [all.length, all.length > offset + 4]);
        const rows = [...body.items];
        for (let cursor = body.nextCursor; cursor !== null;) {
          const { body: page } = await get(`/api/${list}&limit=4&totalCount=true&cursor=${cursor}`);
          assertEquals(page.totalCount, all.length, `${list} at a cursor`);
          rows.push(...page.items);
          cursor = page.nextCursor;
        }
        assertEquals(rows, all.slice(offset), `${list} after ${offset}`);
      }
    }

    const refusal = async (query: string, headers: Record<string, string> = {}) => {
      const { status, body } = await get(`/api/books?${query}`, headers);
      return [status, body.detail];
    };
    assertEquals((await get("/api/books?offset=10000")).body.items, []);
    assertEquals(await refusal("offset=10001"), [
      400,
      "Cannot skip so many rows: offset must be 10000 at most. Continue by the nextCursor of a " +
      "page, or filter by what its last row has",
    ]);
    const { body: { nextCursor } } = await get("/api/books?limit=1");
    assertEquals(await refusal(`offset=1&cursor=${nextCursor}`), [
      400,
      "Cannot use offset and cursor together: a cursor is a position already",
    ]);
    for (const offset of ["-1", "1.5", "x", "", "1e3"]) {
      assertEquals(await refusal(`offset=${offset}`), [
        400,
        "Cannot use this offset: it must be a whole number from 0 on",
      ]);
    }
    assertEquals(await refusal("offset=1", { accept: "text/csv" }), [
      400,
      'Cannot use "offset" in an export: ask for JSON',
    ]);

    const code = app.asSystem().of(books);
    const ids: number[] = [];
    for await (const { id } of code.all({ offset: 20, limit: 2 })) ids.push(id);
    assertEquals(ids, [21, 22, 23]);
  });
});

import { assertEquals } from "@std/assert";
import { integer, resource, table, text } from "../../mod.ts";
import { insertRows, testOnEngines, withService } from "../support/http.ts";

const books = table("books", { id: integer().primaryKey(), body: text().notNull() });
const notes = table("notes", { id: integer().primaryKey(), body: text().notNull() });

testOnEngines(
  "clients that left while rows of a megabyte were read by key held all connections",
  (engine) => {
    const auth = { public: { read: true } };
    const resources = [
      resource(books, { id: books.id, auth }),
      resource(notes, { id: notes.id, auth }),
    ];
    return withService(engine, [books, notes], () => ({ resources }), async ({ db, get }) => {
      await insertRows(db, books, [{ id: 1, body: "x".repeat(600_000) }, { id: 2, body: "y" }]);
      await insertRows(db, notes, [{ id: 1, body: "z" }]);
      let limited = 0;
      const reads = db.driver.reads.bind(db.driver);
      Object.defineProperty(db.driver, "reads", {
        value: (...args: Parameters<typeof reads>) => {
          limited++;
          return reads(...args);
        },
      });
      const statusOf = async (path: string) => (await get(path)).status;
      assertEquals(await statusOf("/api/books/2"), 200);
      assertEquals(await statusOf("/api/books/1"), 200);
      assertEquals(limited, 0, "no answer was large before");
      assertEquals(await statusOf("/api/books/1"), 200);
      assertEquals(await statusOf("/api/books/2"), 200);
      assertEquals(limited, 2, "from then on they have their turns, and end with their clients");
      assertEquals(await statusOf("/api/notes/1"), 200);
      assertEquals(limited, 2, "those of other resources are read as before");
    });
  },
);

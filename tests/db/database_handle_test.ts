import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import type { DatabaseHandle } from "../../src/db/database_handle.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { testOnEveryEngine } from "../support/http.ts";
import type { Database } from "../../src/db/database.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().notNull() });

function test(promise: string, work: (db: Database) => Promise<void>): void {
  testOnEveryEngine(promise, async (engine) => {
    const db = await engine.open();
    try {
      await db.createTables([notes]);
      await work(db);
    } finally {
      await db.close();
    }
  });
}

const insert = (db: DatabaseHandle, id: number) =>
  db.sql`INSERT INTO ${notes} (${notes.id}, ${notes.title}) VALUES (${id}, ${`note ${id}`})`;

async function ids(db: DatabaseHandle): Promise<unknown[]> {
  const { rows } = await db.sql`SELECT ${notes.id} FROM ${notes} ORDER BY ${notes.id}`;
  return rows.map(({ id }) => id);
}

test("db.transaction commits with the result of its work", async (db) => {
  const result = await db.transaction(async (tx) => {
    await insert(tx, 1);
    assertEquals(await ids(tx), [1]);
    assertStrictEquals(tx.dialect, db.dialect);
    return "done";
  });
  assertEquals([result, await ids(db)], ["done", [1]]);
});

test("db.transaction rolls back what its work wrote when it throws", async (db) => {
  const failure = new Error("no");
  const thrown = await assertRejects(() =>
    db.transaction(async (tx) => {
      await insert(tx, 1);
      throw failure;
    })
  );
  assertStrictEquals(thrown, failure);
  assertEquals(await ids(db), []);
});

test("a transaction in a transaction is rolled back by itself", async (db) => {
  await db.transaction(async (tx) => {
    await insert(tx, 1);
    await assertRejects(() =>
      tx.transaction(async (part) => {
        await insert(part, 2);
        // A violation ends a transaction of Postgres, and here only the part.
        await insert(part, 1);
      })
    );
    await tx.transaction(async (part) => {
      await insert(part, 3);
      await assertRejects(() => part.transaction((inner) => fail(inner)));
      await insert(part, 5);
    });
    await insert(tx, 6);
  });
  assertEquals(await ids(db), [1, 3, 5, 6]);

  async function fail(inner: DatabaseHandle): Promise<void> {
    await insert(inner, 4);
    throw new Error("no");
  }
});

test("the handle of a part worked after its end, outside of the part", async (db) => {
  await db.transaction(async (tx) => {
    const kept: DatabaseHandle[] = [];
    await tx.transaction(async (part) => {
      kept.push(part);
      await insert(part, 1);
    });
    await assertRejects(() =>
      tx.transaction((part) => {
        kept.push(part);
        throw new Error("no");
      })
    );
    for (const part of kept) {
      await assertRejects(async () => await insert(part, 2), Error, "has ended");
      await assertRejects(() => part.transaction((inner) => insert(inner, 3)), Error, "has ended");
    }
    await insert(tx, 4);
  });
  assertEquals(await ids(db), [1, 4]);
});

test("a part that was kept is rolled back with the transaction around it", async (db) => {
  await assertRejects(() =>
    db.transaction(async (tx) => {
      const { changed } = await tx.transaction((part) => insert(part, 1));
      assertEquals(changed, 1);
      throw new Error("no");
    })
  );
  assertEquals(await ids(db), []);
});

test("the outer handle fails at once inside a transaction, and inside a part", async (db) => {
  await db.transaction(async (tx) => {
    await assertRejects(() => ids(db), Error, "inside its own transaction");
    await assertRejects(
      () => db.transaction(() => Promise.resolve()),
      Error,
      "its own transaction",
    );
    await tx.transaction(async () => {
      await assertRejects(() => ids(tx), Error, "while a part of it runs");
      await assertRejects(
        () => tx.transaction(() => Promise.resolve()),
        Error,
        "a part of it runs",
      );
    });
    await insert(tx, 1);
  });
  assertEquals(await ids(db), [1]);
});

test("the handle of a transaction that has ended refuses", async (db) => {
  const ended = await db.transaction((tx) => Promise.resolve(tx));
  await assertRejects(() => ids(ended), Error, "transaction has ended");
});

test("db.query is the driver's own: its placeholders, and cells in lists", async (db) => {
  await insert(db, 1);
  const places = [db.dialect.placeholder(1), db.dialect.placeholder(2)];
  const text = `SELECT title FROM notes WHERE title = ${places[0]} OR title = ${places[1]}`;
  const { rows, columns } = await db.query({ text, values: ["note 1", "other"] });
  assertEquals([rows, columns], [[["note 1"]], undefined]);
});

test("a query is described where it asks for that, with and without rows", async (db) => {
  for (const condition of ["1=0", "1=1"]) {
    const text = `SELECT title, count(*) AS "N" FROM notes WHERE ${condition} GROUP BY title`;
    const { columns } = await db.query({ text, values: [], describe: true });
    assertEquals(columns?.map(({ name }) => name), ["title", "N"]);
  }
  const deleted = await db.query({ text: "DELETE FROM notes", values: [], describe: true });
  assertEquals([deleted.rows, deleted.columns], [[], []]);
});

test("a text in place of a template of db.sql is refused with a sentence", async (db) => {
  // As a program that is not checked calls it.
  const sql = db.sql as unknown as (text: string) => PromiseLike<unknown>;
  await assertRejects(async () => await sql("SELECT 1"), Error, "Cannot run this as SQL: write it");
});

test("one table that is not in a list is refused with a sentence", async (db) => {
  const tables = notes as unknown as readonly (typeof notes)[];
  await assertRejects(() => db.createTables(tables), Error, "Cannot create the tables: list them");
});

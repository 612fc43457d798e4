import { createApp } from "../../src/app/app.ts";
import { assertEquals, assertRejects } from "@std/assert";
import { formerly, index } from "../../src/compile/table_parts.ts";
import { decimal, integer, text } from "../../src/schema/column_builder.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { table } from "../../src/schema/table.ts";
import type { ColumnLike } from "../../src/schema/table_like.ts";
import { testOnDialects, testOnEngines } from "../support/http.ts";

testOnEngines("tables that refer to one another are created", async (engine) => {
  const db = await engine.open();
  const one = table("one", {
    id: integer().primaryKey(),
    other: integer().references((): ColumnLike<number> => two.id),
    self: integer().references((): ColumnLike<number> => one.id),
  });
  const two = table("two", { id: integer().primaryKey(), one: integer().references(() => one.id) });
  try {
    await db.createTables([one, two]);
    assertEquals((await db.migrate([one, two], { dryRun: true })).differences, []);
  } finally {
    await db.close();
  }
});

testOnDialects("what cannot be created is named", async (engine) => {
  const db = await engine.open();
  const words = table("words", { id: integer().primaryKey(), word: text() });
  const uses = table("uses", {
    id: integer().primaryKey(),
    word: text().references(() => words.word),
  });
  const long = table("t".repeat(64), { id: integer().primaryKey() });
  const size = (name: string) =>
    table(name, { id: integer().primaryKey(), size: integer() }, (one) => [
      index(one.size).as("by_size"),
    ]);
  const exact = table("exact", {
    id: integer().primaryKey(),
    price: decimal().default("1234567890.1234567"),
  });
  try {
    for (const make of [db.createTables, db.migrate]) {
      await assertRejects(
        () => make([words, uses]),
        Error,
        'Cannot create "uses": its foreign key of word refers to words.word, whose values several',
      );
    }
    await db.createTables([size("sizes")]);
    await assertRejects(
      () => db.createTables([size("others")]),
      Error,
      'Cannot create the table "others": ',
    );
    if (db.dialect.engine === "sqlite") {
      await assertRejects(
        () => db.createTables([exact]),
        Error,
        'the default and the limits of "exact.price" must have at most 15 digits',
      );
      return;
    }
    await assertRejects(() => db.createTables([long]), Error, "more than 63 bytes");
    const other = table("by_size", { id: integer().primaryKey() });
    await assertRejects(() => db.createTables([other]), Error, 'Cannot create the table "by_size"');
  } finally {
    await db.close();
  }
});

testOnEngines("a generated decimal is the same on every engine", async (engine) => {
  const db = await engine.open();
  const bookings = table("bookings", {
    id: integer().primaryKey(),
    seats: integer(),
    price: decimal(),
    total: decimal({ precision: 10, scale: 2 }).generatedAs("seats * price"),
    plain: decimal().generatedAs("seats * price -- each"),
  });
  try {
    await db.createTables([bookings]);
    await db.query({
      text: "INSERT INTO bookings (seats, price) VALUES (3, 0.1), (NULL, 1), (7, 12345.67)",
      values: [],
    });
    const { rows } = await db.sql`
      SELECT ${bookings.total}, ${bookings.plain} FROM ${bookings}
      WHERE ${bookings.total} IN (0.3, 86419.69) OR ${bookings.total} IS NULL
      ORDER BY ${bookings.id}`;
    assertEquals(rows.map(({ total, plain }) => [total, plain]), [
      ["0.30", "0.3"],
      [null, null],
      ["86419.69", "86419.69"],
    ]);
    assertEquals((await db.migrate([bookings], { dryRun: true })).differences, []);
  } finally {
    await db.close();
  }
});

testOnDialects(
  "a table that is to be renamed is not created beside the one with the rows",
  async (engine) => {
    const db = await engine.open();
    const before = table("lines", { id: integer().primaryKey() });
    const after = table("entries", { id: integer().primaryKey() }, () => [formerly("lines")]);
    try {
      await db.createTables([before]);
      await db.query({ text: "INSERT INTO lines (id) VALUES (7)", values: [] });
      await db.createTables([after]);
      await assertRejects(
        () =>
          createApp({
            db,
            secret: "sixteen or more characters",
            resources: [resource(after, { id: after.id })],
          }),
        Error,
        "entries is still called lines",
      );
      await db.migrate([after]);
      const { rows } = await db.query({ text: "SELECT id FROM entries", values: [] });
      assertEquals(rows.map(([id]) => Number(id)), [7]);
    } finally {
      await db.close();
    }
  },
);

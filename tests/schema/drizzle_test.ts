import { assertEquals, assertThrows } from "@std/assert";
import * as older from "drizzle-0.45/sqlite-core";
import { sql as olderSql } from "drizzle-0.45";
import * as newer from "drizzle-1.0/sqlite-core";
import { sql as newerSql } from "drizzle-1.0";
import { columnInfoOf, tableInfoOf } from "../../src/schema/table_like.ts";
import type { ColumnInfo } from "../../src/schema/table_info.ts";

/** The two lines of Drizzle, whose tables are described alike. */
const lines = [
  { name: "0.45", core: older, sql: olderSql },
  // Both lines have what is used here, under the same names; their types do not say so.
  {
    name: "1.0",
    core: newer as unknown as typeof older,
    sql: newerSql as unknown as typeof olderSql,
  },
];

for (const { name, core, sql } of lines) {
  Deno.test(`a table of Drizzle ${name} for SQLite is described by its columns`, () => {
    const users = core.sqliteTable("users", { id: core.text().primaryKey() });
    const notes = core.sqliteTable("notes", {
      id: core.integer().primaryKey({ autoIncrement: true }),
      ownerId: core.text("owner_id").notNull().references(() => users.id, { onDelete: "cascade" }),
      slug: core.text({ length: 20 }).unique(),
      status: core.text({ enum: ["draft", "done"] }).notNull().default("draft"),
      tags: core.text({ mode: "json" }).default([]),
      isOpen: core.integer({ mode: "boolean" }).default(true),
      at: core.integer({ mode: "timestamp" }).$defaultFn(() => new Date(1_500)),
      ms: core.integer({ mode: "timestamp_ms" }).default(sql`(unixepoch() * ${1000})`),
      share: core.real(),
      price: core.numeric(),
      ratio: core.numeric({ mode: "number" }),
      count: core.numeric({ mode: "bigint" }).default(5n),
      scan: core.blob({ mode: "buffer" }),
      title: core.text().generatedAlwaysAs(sql`upper("slug")`),
      raw: core.customType<{ data: Uint8Array }>({ dataType: () => "blob" })(),
    }, (t) => [
      core.uniqueIndex("by_owner").on(t.ownerId, t.slug),
      core.index("by_status").on(t.status).where(sql`${t.status} = 'draft'`),
      core.check("positive", sql`${t.share} > 0`),
    ]);
    const dated = core.sqliteTable("dated", {
      id: core.integer().primaryKey(),
      data: core.text({ mode: "json" }).$defaultFn(() => ({ at: new Date(0) })),
    });
    assertEquals(made(tableInfoOf(dated).byName.get("data")), { at: "1970-01-01T00:00:00.000Z" });
    const info = tableInfoOf(notes);
    const of = (property: string) => info.byName.get(property);
    assertEquals(info.columns.map(({ name, kind }) => [name, kind]), [
      ["id", "integer"],
      ["ownerId", "text"],
      ["slug", "text"],
      ["status", "text"],
      ["tags", "json"],
      ["isOpen", "boolean"],
      ["at", "timestamp"],
      ["ms", "timestamp"],
      ["share", "real"],
      ["price", "decimal"],
      ["ratio", "real"],
      ["count", "bigint"],
      ["scan", "bytes"],
      ["title", "text"],
      ["raw", "bytes"],
    ]);
    assertEquals([info.name, info.schema, info.own], ["notes", null, false]);
    assertEquals(info.primaryKey, [columnInfoOf(notes.id)]);
    assertEquals(of("id")?.default, { kind: "database", sql: null });
    assertEquals(of("ownerId")?.dbName, "owner_id");
    assertEquals(of("ownerId")?.references, { schema: null, table: "users", column: "id" });
    assertEquals(info.foreignKeys, [{
      columns: ["owner_id"],
      schema: null,
      table: "users",
      references: ["id"],
      onDelete: "cascade",
      onUpdate: null,
    }]);
    assertEquals([of("slug")?.unique, of("slug")?.maxLength], [true, 20]);
    assertEquals(of("status")?.enumValues, ["draft", "done"]);
    assertEquals(of("status")?.default, { kind: "value", value: "draft" });
    assertEquals(of("count")?.default, { kind: "value", value: "5" });
    assertEquals(of("ms")?.default, { kind: "database", sql: "(unixepoch() * 1000)" });
    assertEquals(made(of("at")), "1970-01-01T00:00:01.000Z");
    assertEquals(of("at")?.timestampFormat, "epoch-seconds");
    assertEquals(of("ms")?.timestampFormat, "epoch-milliseconds");
    assertEquals([of("title")?.generated, of("title")?.generatedSql], [true, 'upper("slug")']);
    assertEquals(info.uniques, [["owner_id", "slug"]]);
    assertEquals(info.indexes, [
      { name: "by_status", columns: ["status"], unique: false, where: `"status" = 'draft'` },
    ]);
    assertEquals(info.checks, [{ name: "positive", sql: '"share" > 0' }]);
    assertEquals(tableInfoOf(notes), info);
    assertEquals(tableInfoOf(notes.at), info);
  });

  Deno.test(`a composite key of Drizzle ${name} has the order of its declaration`, () => {
    const links = core.sqliteTable("links", {
      a: core.integer().notNull(),
      b: core.integer().notNull(),
    }, (t) => [core.primaryKey({ columns: [t.b, t.a] })]);
    assertEquals(tableInfoOf(links).primaryKey, [columnInfoOf(links.b), columnInfoOf(links.a)]);
    assertEquals(tableInfoOf(links).byName.get("a")?.default, null);
  });

  Deno.test(`what Drizzle ${name} declares and nothing serves is refused by name`, () => {
    const odd = core.customType<{ data: string }>({ dataType: () => "varchar(9)" });
    for (
      const [column, message] of [
        [core.blob({ mode: "json" }), "it keeps JSON in a blob"],
        [core.blob({ mode: "bigint" }), "it keeps digits in a blob"],
        [odd(), "its custom type varchar(9) is none of text, integer"],
        [core.text({ enum: ["a"] }).default("b" as "a"), "its default must be one of"],
      ] as const
    ) {
      const made = core.sqliteTable("odd", { id: core.integer().primaryKey(), column });
      assertThrows(() => tableInfoOf(made), Error, `Cannot serve odd.column: ${message}`);
    }
  });
}

function made(column: ColumnInfo | undefined): unknown {
  return column?.default?.kind === "function" ? column.default.make() : null;
}

import { assertEquals } from "@std/assert";
import { openDatabase } from "../../src/engines/open_database.ts";
import { shadowTables } from "../../src/engines/sqlite/driver/tables/shadow_tables.ts";
import { runScript, scratchFolder } from "../support/scratch.ts";

Deno.test("a table whose name begins like that of a virtual table is served", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/shadows.db`;
  const maker = await openDatabase(`sqlite:${path}`);
  // node:sqlite has no geopoly, and takes g_node, g_parent and g_rowid for ordinary tables.
  await runScript(
    maker.driver,
    `CREATE VIRTUAL TABLE fts USING fts5(a);
     CREATE TABLE fts_notes (id INTEGER PRIMARY KEY);
     CREATE TABLE fts_content2 (id INTEGER PRIMARY KEY);
     CREATE VIRTUAL TABLE "g (USING fts5)" USING geopoly(a);
     CREATE TABLE "g (USING fts5)_notes" (id INTEGER PRIMARY KEY);
     CREATE TABLE "g (USING fts5)_content" (id INTEGER PRIMARY KEY);`,
  );
  await maker.close();
  for (const scheme of ["sqlite", "node-sqlite"]) {
    const db = await openDatabase(`${scheme}:${path}`, { readOnly: true });
    const { tables, leftOut } = await db.introspect();
    const known = scheme === "sqlite" ? ["g (USING fts5)"] : [];
    assertEquals(tables.map(({ name }) => name).sort(), [
      "fts",
      "fts_content2",
      "fts_notes",
      ...known,
      "g (USING fts5)_content",
      "g (USING fts5)_notes",
    ], scheme);
    assertEquals(
      leftOut,
      known.length > 0
        ? []
        : [{ table: "g (USING fts5)", reason: "it cannot be read: no such module: geopoly" }],
      scheme,
    );
    await db.close();
  }
});

Deno.test("without the module of a virtual table, its shadows are known by their names", () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['CREATE VIRTUAL TABLE "T" USING fts5(a)', "t_data", true],
    ['CREATE VIRTUAL TABLE "T" USING "FTS5"(a)', "T_config", true],
    ['CREATE VIRTUAL TABLE "T" USING fts5(a)', "t_data2", false],
    ['CREATE VIRTUAL TABLE "T" USING fts5(a)', "t_node", false],
    ['CREATE VIRTUAL TABLE "T"USING rtree(id, a, b)', "T_node", true],
    ["CREATE VIRTUAL TABLE [T] USING vec0(a)", "T_vector_chunks00", true],
    ["CREATE VIRTUAL TABLE [T] USING vec0(a)", "T_vector_chunks", false],
    ["CREATE VIRTUAL TABLE T USING elsewhere", "T_content", true],
    ["CREATE VIRTUAL TABLE T USING elsewhere", "T_notes", false],
    ["CREATE VIRTUAL TABLE T USING known(a)", "T_content", false],
  ];
  for (const [sql, table, expected] of cases) {
    const listed = [
      { name: "T", type: "virtual", sql },
      { name: table, type: "table", sql: "" },
    ];
    assertEquals(shadowTables(listed, new Set(["known"])).has(table), expected, `${sql} ${table}`);
  }
});

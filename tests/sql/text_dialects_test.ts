import { assertEquals, assertStringIncludes } from "@std/assert";
import { compileFilter } from "../../src/compile/where.ts";
import { eq } from "../../src/filter/builders.ts";
import type { Filter } from "../../src/filter/filter.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { readTableInfo, table } from "../../src/schema/define.ts";
import { rawSql, sql, toStatement } from "../../src/sql/fragment.ts";
import { postgresText } from "../../src/sql/postgres_text.ts";
import { sqliteText } from "../../src/sql/sqlite_text.ts";
import { filterOf } from "../filter/support.ts";
import { engines } from "../support/engines.ts";
import { testUnless } from "../support/skip.ts";

const notes = table("notes", { id: integer().primaryKey(), title: text().unique() });

// The driver of node:sqlite explains statements itself and cannot run an EXPLAIN of ours; the
// library behind it is the same as the other one's.
for (const engine of engines.filter(({ name }) => name !== "node:sqlite")) {
  testUnless(engine.ignore ?? null, `${engine.name} finds a prefix by an index`, async () => {
    const db = await engine.open();
    try {
      await db.createTables([notes]);
      // Postgres reads small tables whole unless it is told not to.
      const isServer = db.dialect.engine === "postgres";
      const explain = isServer ? "EXPLAIN" : "EXPLAIN QUERY PLAN";
      const planOf = async (filter: Filter) => {
        const query = sql`${rawSql(explain)} SELECT id FROM notes WHERE ${
          compileFilter(filter, db.dialect)
        }`;
        return await db.driver.transaction(async (connection) => {
          if (isServer) {
            await connection.query({ text: "SET LOCAL enable_seqscan = off", values: [] });
          }
          const { rows } = await connection.query(toStatement(query, db.dialect.placeholder));
          return rows.map((row) => row.join(" ")).join("\n");
        });
      };
      const info = readTableInfo(notes);
      for (const filter of [filterOf('title=startswith="á"', info), eq(notes.title, "a")]) {
        assertStringIncludes(await planOf(filter), isServer ? "Index Cond" : "SEARCH");
      }
    } finally {
      await db.close();
    }
  });
}

Deno.test("an ASCII argument is folded by the engine itself", () => {
  const column = rawSql("v");
  const question = () => "?";
  assertEquals(toStatement(sqliteText.containsFolded(column, "5%"), question), {
    text: "v LIKE ? ESCAPE '\\'",
    values: ["%5\\%%"],
  });
  assertEquals(toStatement(postgresText.equalsFolded(column, "Ab"), question), {
    text: 'lower(v COLLATE "C") = ?',
    values: ["ab"],
  });
});

Deno.test("Postgres folds no more than the characters of the argument", () => {
  const fragment = postgresText.equalsFolded(rawSql("v"), "ΣÅb1");
  assertEquals(fragment.values, ["Σς\u00c5\u212b", "σσåå", "σåb1"]);
});

Deno.test("a pattern becomes a GLOB with everything but % and _ literal", () => {
  const values = (pattern: string) => sqliteText.like(rawSql("v"), pattern).values;
  assertEquals(values("a%b_c"), ["a*b?c"]);
  assertEquals(values("*?[]\\%\\_\\\\\\*"), ["[*][?][[]]%_\\[*]"]);
  assertEquals(values("\\\n\\👍"), ["\n👍"]);
});

Deno.test("values never stand in the text of a statement", () => {
  const hostile = "'; DROP TABLE notes; --";
  for (const dialect of [sqliteText, postgresText]) {
    const { text: sqlText } = toStatement(dialect.contains(rawSql("v"), hostile), () => "?");
    assertEquals(sqlText.includes("DROP"), false);
  }
});
